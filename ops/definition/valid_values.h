// The integers that a graph admits in its tensors, as far as they follow from requirements of
// operators on values that are only moved on the way. Random inputs are drawn from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::ops {

/// low ≤ value < high.
struct ValueRange {
  std::int64_t low = 0, high = 0;
  bool operator==(const ValueRange&) const = default;
};

/// By tensor number: a range such that all requirements hold of elements in it; none: no
/// requirement reads it, or only behind arithmetic, or its bounds are no numbers. A range that
/// leaves nothing has high ≤ low. Complexity: linear in the graph.
std::vector<std::optional<ValueRange>> valid_values(const core::Graph& graph);

}  // namespace soapstone::ops
