// Which nodes are linear in some of their operands, and which axes they leave alone. Read off the
// comprehensions; what follows from it is proved rule by rule, so nothing here needs to be trusted.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// How a node that is linear in some operands uses the others.
struct Linearity {
  std::vector<bool> is_added;  ///< By operand: it stands in no product with the linear ones.
};

/// None: the node is not of degree one in these operands taken together.
std::optional<Linearity> linearity_in(const core::Graph& graph, const core::Node& node,
                                      const std::vector<bool>& operands);

/// An axis of operands along which each element of the results depends on the elements at the same
/// place alone: where it lies in each result. `axes` has it by operand, none for operands that do
/// not have it. None: the node mixes the places, or needs that very number of them.
std::optional<std::vector<std::size_t>>
kept_axis(const core::Graph& graph, const core::Node& node,
          const std::vector<std::optional<std::size_t>>& axes);

/// The entry of the list that says the shape of the result of an operator with an attribute for
/// it, for an axis of its operand. None: there is no such entry.
std::optional<std::size_t> place_in_shape(const core::Node& node, const core::Shape& operand,
                                          std::size_t axis, const core::Shape& result);

}  // namespace soapstone::transforms
