// See compare.h.
#include "jobs/compare/compare.h"

#include <utility>

#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "search/equivalence/random_weights.h"

namespace soapstone::jobs {
namespace {

/// Asks a runtime that is not ours what it computes from the two files.
core::Result<search::JudgeReport> ask_judge(const CompareRequest& request,
                                            const search::EquivalenceOptions& equivalence,
                                            const core::Graph& a, const core::Graph& b,
                                            search::EquivalenceCheck& check,
                                            const Context& context) {
  // Random weights are in no file.
  if (request.random_weights) return search::JudgeReport{{}, false, "random weights", {}, {}};
  SOAPSTONE_ASSIGN_OR_RETURN(IndependentRuntime runtime, start_runtime(request.judge));
  if (!runtime.worker) return search::JudgeReport{{}, false, runtime.why_not, {}, {}};
  const auto judge = FileJudge::of_files(*std::move(runtime.worker), request.a, request.b, a);
  context.progress.stage("asking " + judge->runtime());
  search::Judgment judgment(*judge, a, equivalence);
  judgment.explain_overflow_by(
      [&](const core::Graph& graph, int sample) { return check.leaves_range(graph, sample); });
  return judgment.run(b, context.progress, context.stop);
}

core::Status compare_numbers(const CompareRequest& request, const core::Graph& a,
                             const core::Graph& b, runtime::Backend& backend,
                             const search::EquivalenceOptions& equivalence, const Context& context,
                             CompareOutcome& outcome) {
  context.progress.stage("comparing");
  const auto pair = request.random_weights ? search::randomize_weights(a, b, equivalence.seed)
                                           : search::RandomizedPair{a, b};
  SOAPSTONE_ASSIGN_OR_RETURN(auto check,
                             search::EquivalenceCheck::make(pair.original, backend, equivalence));
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.numbers,
                             check.run(pair.rewritten, context.progress, context.stop));
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.judge, ask_judge(request, equivalence, a, b, check, context));
  return core::Done{};
}

core::Result<CompareOutcome> compare_unguarded(const CompareRequest& request,
                                               const Context& context) {
  const bool numbers = request.equivalence.samples > 0 || !request.inputs.empty();
  if (!numbers && request.proof.empty()) {
    return usage_error("there is nothing to compare on",
                       "set `samples` to 1 or more, or give `inputs` or a `proof`");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(
      const models::OnnxModel a,
      read_model(request.a, request.shapes, context, request.fold_default_inputs));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const models::OnnxModel b,
      read_result(request.b, request.shapes, context, request.fold_default_inputs));
  if (numbers) {
    SOAPSTONE_RETURN_IF_ERROR(check_can_run(request.a, a.graph));
    SOAPSTONE_RETURN_IF_ERROR(check_can_run(request.b, b.graph));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(request.device));
  search::EquivalenceOptions equivalence = request.equivalence;
  equivalence.defaults = a.defaults;
  equivalence.latitude.may_lose = request.allow_range_changes;
  for (const std::string& path : request.inputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto sample, read_inputs(path, a));
    equivalence.inputs.push_back(std::move(sample));
  }
  CompareOutcome outcome;
  if (!request.proof.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.proof,
                               check_proof(request.proof, a, b, request.shapes,
                                           request.allow_range_changes, *backend, context));
  }
  if (numbers) {
    SOAPSTONE_RETURN_IF_ERROR(
        compare_numbers(request, a.graph, b.graph, *backend, equivalence, context, outcome));
    // A difference that was found is one; that there is none was not seen.
    if (outcome.numbers->equal) SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  }
  return outcome;
}

}  // namespace

core::Result<CompareOutcome> compare(const CompareRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) { return compare_unguarded(request, inner); });
}

}  // namespace soapstone::jobs
