// The roles of an input's values, as far as the graph shows them: indices, divisors, masks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::search {

struct ValueRole {
  /// It is read as indices below this bound, the smallest if several are; 0: it is not.
  std::int64_t index_bound = 0;
  /// The least valid index. 0 where arithmetic stands between it and what reads the index.
  std::int64_t least_index = 0;
  bool is_opaque = false;       ///< An opaque node reads it, or what is made of it by copies.
  bool is_divisor = false;      ///< Something integer is divided by it.
  bool is_mask = false;         ///< Added to what a softmax reads.
  bool is_scaled_mask = false;  ///< Likewise, but multiplied before: 0 and 1 are its values.
};

/// The node's results hold elements of its operands, and at most one number besides.
bool copies_elements(const core::Node& node);

/// By input of the graph.
std::vector<ValueRole> value_roles(const core::Graph& graph);

}  // namespace soapstone::search
