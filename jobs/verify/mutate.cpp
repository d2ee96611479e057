// See mutate.h.
#include "jobs/verify/mutate.h"

#include <algorithm>
#include <thread>

#include "jobs/base/guard.h"

namespace soapstone::jobs {
namespace {

constexpr std::size_t kInstancesPerRule = 6;

core::Result<verifier::MutationScore> mutate_unguarded(const std::vector<rules::Rule>& rules,
                                                       const MutateRequest& request,
                                                       const Context& context) {
  verifier::ScoreOptions options;
  options.mutants = request.mutants;
  options.seed = request.seed;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  options.jobs = request.jobs > 0 ? request.jobs : static_cast<int>(cores);
  options.progress = [&](std::size_t done) {
    context.progress.update(done, request.mutants, "mutants");
    return !context.stop.stop_requested();
  };
  context.progress.stage("Judging mutants");
  auto score = verifier::score_mutants(
      verifier::mutation_origins(rules, kInstancesPerRule, request.seed), options);
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  return score;
}

}  // namespace

core::Result<verifier::MutationScore> mutate(const std::vector<rules::Rule>& rules,
                                             const MutateRequest& request, const Context& context) {
  return guarded(context,
                 [&](const Context& inner) { return mutate_unguarded(rules, request, inner); });
}

}  // namespace soapstone::jobs
