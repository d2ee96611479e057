// Factors that have a number for each place of one axis, taken back through an operator.
#pragma once

#include <cstddef>
#include <optional>

#include "core/graph/graph.h"

namespace soapstone::rules {

/// How many axes of a tensor stand behind that of its factor. None: the factor is one number.
using FactorAxis = std::optional<std::size_t>;

/// Where the factor of the node's result lies in that operand, if that takes it: the result has it
/// then. None: it does not.
FactorAxis factor_axis(const core::Graph& graph, const core::Node& node, std::size_t operand,
                       std::size_t behind);

}  // namespace soapstone::rules
