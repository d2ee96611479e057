// verify-rules --mutate: how the prover and the search for counterexamples fare on wrong rules.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/run_main.h"
#include "core/base/result.h"
#include "rules/rule/rule.h"

namespace soapstone::cli {

struct MutationOptions {
  std::size_t mutants = 0;  ///< 0: none are made.
  std::uint64_t seed = 1;
  int jobs = 1;          ///< 0: all cores.
  bool verbose = false;  ///< Also examples of what is open or slow.
};

/// Makes mutants of the rules, judges them, and reports a table or one JSON object.
/// Errors: kRequirementNotMet if a wrong mutant is proved.
core::Status mutate(const std::vector<rules::Rule>& rules, const MutationOptions& options,
                    Session& session);

}  // namespace soapstone::cli
