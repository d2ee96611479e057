// mutate(): how the prover and the search for counterexamples fare on wrong rules.
#pragma once

#include <cstdint>
#include <vector>

#include "jobs/base/context.h"
#include "rules/rule/rule.h"
#include "verifier/mutation/mutation_score.h"

namespace soapstone::jobs {

struct MutateRequest {
  std::size_t mutants = 0;
  std::uint64_t seed = 1;
  int jobs = 1;  ///< Threads; 0: all cores.
};

/// Makes mutants of the rules and judges them. Errors: kInterrupted.
core::Result<verifier::MutationScore> mutate(const std::vector<rules::Rule>& rules,
                                             const MutateRequest& request,
                                             const Context& context = {});

}  // namespace soapstone::jobs
