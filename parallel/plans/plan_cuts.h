// From a plan as it was read to the cuts that lowering takes, and the names of what is cut in a
// weight.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/lowering/lowering.h"
#include "parallel/plans/plan_document.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// `1` for a dimension; `1:64:768` for a digit of it whose values are 64 elements apart and repeat
/// every 768 elements.
std::string digit_name(const Digits::Digit& digit);
/// None: it is no such name.
std::optional<Digits::Digit> parse_digit_name(std::string_view name);

/// The cuts that the plan says of the nodes and weights of its model, of a forward pass over the
/// whole batch. `loops` and `is_weight` (by tensor) are those of the graph. Precondition:
/// check_belongs() finds nothing. Errors: kInvalidInput if a weight is cut along a digit that no
/// node of the model has.
core::Result<PlannedCuts> cuts_of(const PlanDocument& document, const core::Graph& graph,
                                  const GraphLoops& loops, const std::vector<bool>& is_weight);

}  // namespace soapstone::parallel
