// Factors that have a number for each place along some axes, taken back through an operator.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// Operands of which a factor of the result has to be taken, for each way in which a node may do
/// so. Empty: no operand has the factor of the result.
std::vector<std::vector<std::size_t>> factor_ways(const core::Node& node);

/// Operands of which a positive number has to be taken, likewise, where a node is no product and no
/// sum: f(c·x) = c·f(x) for c > 0. Guessed from values.
std::vector<std::vector<std::size_t>> ways_of_positive_numbers(const core::Node& node);

/// Where the dimensions of a factor lie in a tensor: how many axes stand behind each. Empty: the
/// factor is one number.
using FactorAxes = std::vector<std::size_t>;

/// Where the factor of the node's result lies in that operand, if that takes it: the result has it
/// then. None: it does not.
std::optional<FactorAxes> factor_axes(const core::Graph& graph, const core::Node& node,
                                      std::size_t operand, const FactorAxes& axes);

}  // namespace soapstone::transforms
