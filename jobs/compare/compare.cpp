// See compare.h.
#include "jobs/compare/compare.h"

#include <utility>

#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "models/onnx/opaque_functions.h"
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

/// Either file may have a number that only a sample near it shows.
search::Landmarks landmarks_of(const core::Graph& a, const core::Graph& b,
                               runtime::Backend& backend, std::uint64_t seed) {
  search::Landmarks landmarks{search::landmarks_by_input(b),
                              search::stretches_of(a, backend, seed)};
  const auto more = search::stretches_of(b, backend, seed);
  landmarks.stretches.insert(landmarks.stretches.end(), more.begin(), more.end());
  return landmarks;
}

/// Asks the files about the opaque nodes in their graphs.
search::OpaqueFacts opaque_facts(const models::OnnxModel& a, const models::OnnxModel& b) {
  return {[in_a = a.header, in_b = b.header](const core::Node& node) {
            return models::means_the_same(node, *in_a, *in_b);
          },
          models::is_repeatable};
}

core::Status compare_numbers(const CompareRequest& request, const models::OnnxModel& model_a,
                             const models::OnnxModel& model_b, runtime::Backend& backend,
                             search::EquivalenceOptions equivalence, const Context& context,
                             CompareOutcome& outcome) {
  context.progress.stage("comparing");
  const core::Graph &a = model_a.graph, &b = model_b.graph;
  const auto pair = request.random_weights ? search::randomize_weights(a, b, equivalence.seed)
                                           : search::RandomizedPair{a, b};
  equivalence.landmarks = landmarks_of(pair.original, pair.rewritten, backend, equivalence.seed);
  SOAPSTONE_ASSIGN_OR_RETURN(auto check, search::EquivalenceCheck::make_pair(
                                             pair.original, pair.rewritten,
                                             opaque_facts(model_a, model_b), backend, equivalence));
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.numbers,
                             check.run(pair.rewritten, context.progress, context.stop));
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.judge, ask_judge(request, equivalence, a, b, check, context));
  return core::Done{};
}

core::Result<CompareOutcome> compare_unguarded(const CompareRequest& request,
                                               const Context& context) {
  const bool numbers = request.samples.value_or(1) > 0 || !request.inputs.empty();
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
  equivalence.samples =
      request.samples ? static_cast<int>(*request.samples) : search::default_samples(a.graph);
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
        compare_numbers(request, a, b, *backend, equivalence, context, outcome));
    // A difference that was found is one; that there is none was not seen.
    if (outcome.verdict() != CompareOutcome::Verdict::kDifferent)
      SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  }
  return outcome;
}

}  // namespace

CompareOutcome::Verdict CompareOutcome::verdict() const {
  if (!numbers) return Verdict::kEqual;  // the proof holds
  if (judge.looked && !judge.equivalence.equal) return Verdict::kDifferent;
  const bool may_be_equal = numbers->equal || numbers->differs_behind_opaque_alone();
  if (!may_be_equal) return Verdict::kDifferent;
  // Who runs opaque nodes knows more than that some results of theirs would make a difference.
  if (judge.looked) return Verdict::kEqual;
  if (numbers->equal) return numbers->cut_outputs > 0 ? Verdict::kNotDecided : Verdict::kEqual;
  return numbers->unmatched.empty() && !numbers->operands_differ() ? Verdict::kDifferent
                                                                   : Verdict::kNotDecided;
}

core::Result<CompareOutcome> compare(const CompareRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) { return compare_unguarded(request, inner); });
}

}  // namespace soapstone::jobs
