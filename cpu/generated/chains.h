// Launches of a graph where generated loops run chains of operators between contractions.
#pragma once

#include <vector>

#include "runtime/launches/launch_plan.h"

namespace soapstone::cpu {

/// See Backend::cover. What `rules` put behind a contraction stays there; launches of other
/// operators that index analysis can put into one become one.
std::vector<runtime::Launch> cover_with_chains(const core::Graph& graph,
                                               const runtime::FusionRules& rules);

}  // namespace soapstone::cpu
