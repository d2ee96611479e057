// Small pieces of graphs around the operator of a part.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "ops/language/comprehension.h"
#include "ops/partition/digit_region.h"

namespace soapstone::ops::partition {

/// Builds a part. An operator that is appended must have types: whoever calls has inferred them.
class PartGraph {
 public:
  core::GraphBuilder& builder() { return builder_; }
  core::TensorId input(const core::TensorType& type, const core::Dims& dims);
  core::TensorId append(std::string_view op, std::vector<core::TensorId> inputs,
                        const core::Attributes& attributes = {});
  const core::TensorType& type(core::TensorId id) const { return builder_.tensor(id).type; }

  /// A scalar of the element type.
  core::TensorId scalar(core::DataType type, std::int64_t value);
  core::TensorId zeros(core::DataType type, const core::Dims& dims);
  /// The elements of a region, put together.
  core::TensorId take(core::TensorId tensor, const DigitRegion& region);
  /// One more slice behind the last along a dimension.
  core::TensorId with_zeros_behind(core::TensorId tensor, std::size_t dim);
  /// The tensor where the mask holds, else 0. `dims`: the dimensions that the mask has, ascending.
  core::TensorId masked(core::TensorId tensor, core::TensorId mask,
                        const std::vector<std::size_t>& dims);
  /// tensor · factor + shift, exactly.
  core::TensorId scaled(core::TensorId tensor, Rational factor, std::int64_t shift);

 private:
  core::TensorId slice(core::TensorId tensor, const core::Dims& starts, const core::Dims& extents);

  core::GraphBuilder builder_;
  std::size_t input_count_ = 0;
};

}  // namespace soapstone::ops::partition
