// Operators on tensors that are views, done to what the views are of instead.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/atoms.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

struct MovedOperator {
  std::string text;  ///< Of the rule.
  View result;       ///< Of what the operator then computes.
  bool reassociates = false;
};

/// None: it has no such form, or one that gains nothing. `wanted` is how the result is read, as a
/// view of it. Preconditions: one result, no operand is missing, all sizes are numbers.
std::optional<MovedOperator> moved_operator(const core::Graph& graph, const core::Node& node,
                                            std::vector<MovedOperand> operands,
                                            const std::optional<View>& wanted);

/// Likewise for sums of the products of two tensors' elements, which are a contraction.
std::optional<MovedOperator> moved_sum(const core::Graph& graph, const core::Node& product,
                                       const core::Node& sum, std::vector<MovedOperand> factors,
                                       const std::optional<View>& wanted);

/// Whether elements of the result are computed from those of the first operand at the same place,
/// but for axes along which all are taken together.
bool keeps_places(const core::Node& node);

}  // namespace soapstone::transforms
