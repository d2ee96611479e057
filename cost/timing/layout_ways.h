// What has to be measured so that a backend can choose layouts by cost.
#pragma once

#include <span>

#include "runtime/launches/execution_plan.h"

namespace soapstone::cost {

/// As steps of one plan, which nobody runs: every launch that has a choice of layouts in each of
/// them, and the conversions of its tensors in both directions.
runtime::ExecutionPlan all_layouts(const core::Graph& graph, const runtime::Backend& backend,
                                   std::span<const runtime::Launch> launches);

}  // namespace soapstone::cost
