// Whether rules derive all equalities of an enumeration, by saturation, which shares no code with
// what left them out.
#pragma once

#include <string>
#include <vector>

#include "core/base/progress.h"
#include "generator/enumeration/enumerate.h"
#include "generator/selection/derivation.h"

namespace soapstone::generator {

struct CompletenessOptions {
  DerivationLimits limits;
  std::size_t step = 1;  ///< Every so many of the equalities are looked at.
  int jobs = 0;          ///< Threads; 0: one a core. The result does not depend on it.
};

struct Completeness {
  std::size_t derived = 0;
  std::size_t no_rules = 0;     ///< Neither direction can be written as a rule.
  std::size_t wrong = 0;        ///< Hold for some sizes or values only.
  std::vector<EqualPair> lost;  ///< Right, and not derived within the limits.
};

/// `rules`: those that are kept, and what folding knows of constants. Stopped: of some.
Completeness completeness(const Enumeration& enumeration, const rules::SaturationRules& rules,
                          const CompletenessOptions& options, core::ProgressSink& progress,
                          const core::StopToken& stop);

}  // namespace soapstone::generator
