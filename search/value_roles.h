// What the values of an input are for, as far as the graph shows: indices, divisors, masks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph.h"

namespace soapstone::search {

struct ValueRole {
  /// A gather reads it as indices of a dimension of this size, the smallest if several do; 0: none.
  std::int64_t index_bound = 0;
  /// Nothing but casts and copies stands between it and the gathers, so that −n to −1 are valid.
  bool may_wrap = false;
  bool is_opaque = false;       ///< An opaque node reads it, or what is made of it by copies.
  bool is_divisor = false;      ///< Something integer is divided by it.
  bool is_mask = false;         ///< Added to what a softmax reads.
  bool is_scaled_mask = false;  ///< Likewise, but multiplied before: 0 and 1 are its values.
};

/// By input of the graph.
std::vector<ValueRole> value_roles(const core::Graph& graph);

}  // namespace soapstone::search
