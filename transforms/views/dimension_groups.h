// Which dimensions a reshape puts together, and which it divides.
#pragma once

#include <cstddef>
#include <vector>

#include "transforms/views/view.h"

namespace soapstone::transforms {

/// Consecutive dimensions.
struct DimensionRange {
  std::size_t first, end;
  std::size_t count() const { return end - first; }
  bool contains(std::size_t d) const { return d >= first && d < end; }
};
struct DimensionGroup {
  DimensionRange from, to;
};

/// The fewest dimensions of both shapes that have as many elements, one group after another.
/// Precondition: both have as many, at least one.
std::vector<DimensionGroup> dimension_groups(const Sizes& from, const Sizes& to);

}  // namespace soapstone::transforms
