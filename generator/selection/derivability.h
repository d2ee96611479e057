// Finds which rules of one set follow from those of another. Each is looked at with numbers for its
// sizes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "generator/selection/derivation.h"

namespace soapstone::generator {

struct DerivabilityOptions {
  DerivationLimits limits{20'000, 60};
  std::size_t samples = 3;  ///< Values of the parameters for each instance that has any.
  std::uint64_t seed = 1;
  int jobs = 0;  ///< Threads; 0: all cores. The result does not depend on it.
};

/// The verdict on a rule as it stands in a file: derivable if all of its instances are at all
/// samples.
struct RuleDerivability {
  std::string rule;  ///< Rule::base_name
  std::filesystem::path file;
  int line = 0;
  std::size_t instances = 0, derivable = 0;
  /// None: no sizes were found at which one of the instances could be looked at.
  std::optional<Derivability> verdict;
  std::string instance;   ///< The first that is not derivable.
  std::size_t nodes = 0;  ///< E-nodes, the most of all samples.
  double cpu_ms = 0;
};

/// In the order of `rules`, whose instances follow each other. Stopped: the rules finished till
/// then.
std::vector<RuleDerivability> derivability(std::span<const rules::Rule> rules,
                                           const rules::SaturationRules& from,
                                           const DerivabilityOptions& options,
                                           core::ProgressSink& progress,
                                           const core::StopToken& stop);

/// The rule from right to left. Errors: a match would not say what some input is.
core::Result<rules::Rule> reversed(const rules::Rule& rule);

}  // namespace soapstone::generator
