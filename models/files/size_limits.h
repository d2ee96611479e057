// How large a tensor may be before its sizes are refused: small enough that no product or sum of
// sizes in any shape rule overflows.
#pragma once

#include <algorithm>

#include "core/graph/tensor_type.h"

namespace soapstone::models {

inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 32;
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

/// Whether all sizes are numbers within the limits. An unknown shape is.
inline bool is_bearable(const core::TensorType& type) {
  if (!type.shape_known) return true;
  const auto dims = core::concrete(type.shape);
  if (!dims) return false;
  const auto count = core::checked_element_count(*dims);
  return count && *count <= kMostElements &&
         std::all_of(dims->begin(), dims->end(), [](std::int64_t d) { return d <= kLargestSize; });
}

}  // namespace soapstone::models
