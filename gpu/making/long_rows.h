// Sums and maxima so long that one block takes long for them, although most of the card is idle:
// parts of them are computed first, and then joined.
#pragma once

#include <optional>

#include "runtime/generated/region.h"

namespace soapstone::gpu {

using runtime::generated::Region;

/// Kernels one after the other; each reads what those before it computed.
struct DividedRegion {
  Region parts;   ///< Computes a tensor with an element for each part of each sum.
  Region joined;  ///< Reads it, and computes the sums; without a rest, what the region computes.
  /// Computes what the region computes, reading the sums from memory.
  std::optional<Region> rest;
  std::size_t parts_bytes = 0, joined_bytes = 0;
};

/// Divides the first sum or maximum that is long and of few elements. Its parts are a tensor called
/// `parts_id`, and its value one called `joined_id`, where many elements are computed of it. None:
/// there is no such sum, or its length has no fitting divisor.
std::optional<DividedRegion> divide_long_rows(const Region& region, core::TensorId parts_id,
                                              core::TensorId joined_id);

}  // namespace soapstone::gpu
