// Which axes of operands an axis of the results is, place by place. Read off the comprehension;
// what follows from it is proved rule by rule, so nothing here needs to be trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// An axis along which each place of the results depends on the same place of operands alone.
struct CarriedAxis {
  std::vector<std::optional<std::size_t>> operands;  ///< None: all places read the same of it.
  std::vector<std::size_t> results;
};

/// That of the first result with this number. None: the node mixes its places, or makes them.
std::optional<CarriedAxis> carried_axis(const core::Graph& graph, const core::Node& node,
                                        std::size_t axis);

}  // namespace soapstone::transforms
