// Keeps of many equalities those that the others do not imply: most general first, each is kept
// unless the rules kept before it derive it. The result does not depend on the number of threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/progress.h"
#include "generator/generalization/candidates.h"
#include "generator/selection/derivation.h"

namespace soapstone::generator {

/// Looks at candidates that nothing derives, before anything is derived from them. May replace one
/// by a less general form, and takes away directions that must not be used; a candidate without any
/// is not kept.
using Admit = std::function<void(std::span<RuleCandidate* const>)>;

struct MinimizeOptions {
  DerivationLimits limits;
  int jobs = 0;                         ///< Threads; 0: one a core.
  Admit admit = nullptr;                ///< None: all are admitted.
  std::vector<rules::Rule> background;  ///< Laws that may be used and need not be kept.
};

/// All directions of an equality as one family; its number. Precondition: there is one.
std::uint32_t add_directions(const RuleCandidate& candidate, rules::SaturationRules& rules);

/// The kept ones, most general first.
std::vector<RuleCandidate> minimize(std::vector<RuleCandidate> candidates,
                                    const MinimizeOptions& options, core::ProgressSink& progress,
                                    const core::StopToken& stop);

}  // namespace soapstone::generator
