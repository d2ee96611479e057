// A set of elements of a tensor: a product of intervals of digits. A box has one digit a dimension;
// a cut inside a reshaped dimension takes a piece of each of its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/tensor_type.h"
#include "ops/analysis/analysis.h"

namespace soapstone::ops {

/// Values that a digit takes out of 0 … radix−1.
struct DigitInterval {
  std::int64_t radix = 1;
  Interval values{0, 1};
  bool operator==(const DigitInterval&) const = default;
};

class DigitRegion {
 public:
  DigitRegion() = default;
  /// By dimension, digits outermost first. Makes them as few as possible, so that equal sets are
  /// equal regions.
  explicit DigitRegion(std::vector<std::vector<DigitInterval>> dims);
  static DigitRegion whole(const core::Dims& dims);
  static DigitRegion none(const core::Dims& dims);
  static DigitRegion box(const core::Dims& dims, const std::vector<Interval>& intervals);

  const std::vector<std::vector<DigitInterval>>& dims() const { return dims_; }
  bool is_box() const;
  bool is_empty() const { return element_count() == 0; }
  std::int64_t element_count() const;
  /// The shape of the elements put together.
  core::Dims extents() const;
  /// Sizes of the tensor.
  core::Dims tensor_dims() const;
  /// The smallest box around it.
  std::vector<Interval> hull() const;
  /// The elements of a dimension, as ascending intervals that do not touch.
  std::vector<Interval> intervals(std::size_t dim) const;

  bool operator==(const DigitRegion&) const = default;

 private:
  std::vector<std::vector<DigitInterval>> dims_;
  bool is_none_ = false;  ///< Of no dimensions, and without the one element.
};

/// How many elements both have. Precondition: regions of tensors of one shape.
std::int64_t common_elements(const DigitRegion& a, const DigitRegion& b);

}  // namespace soapstone::ops
