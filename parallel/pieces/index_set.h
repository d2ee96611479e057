// Sets of elements of a tensor that devices hold and exchange: a product of sets of indices, one
// for each dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/tensor_type.h"
#include "ops/partition/digit_region.h"

namespace soapstone::parallel {

/// Indices along one dimension, as ascending intervals that do not touch.
using IndexSet = std::vector<ops::Interval>;

std::int64_t count(const IndexSet& set);
bool has(const IndexSet& set, std::int64_t index);
IndexSet intersection(const IndexSet& a, const IndexSet& b);
/// The places of the indices of `part` among those of `whole`. Precondition: `whole` has them all.
IndexSet positions_in(const IndexSet& whole, const IndexSet& part);

/// The indices of `whole` at these positions among them: what positions_in() takes back.
IndexSet elements_at(const IndexSet& whole, const ops::Interval& positions);

/// Indices below `size` that `parts` pieces of a digit leave to one of them. The digit repeats
/// every `period` indices and moves by `stride` of them; a period of 0 is all of them.
IndexSet repeated(std::int64_t size, std::int64_t stride, std::int64_t period,
                  const ops::Interval& values);

/// Elements of a tensor: one index out of each set. The device that holds them has them as a tensor
/// of their extents.
struct TensorPiece {
  std::vector<IndexSet> dims;

  static TensorPiece whole(const core::Dims& dims);
  static TensorPiece of(const ops::DigitRegion& region);
  std::int64_t element_count() const;  ///< 1 for a scalar.
  bool is_empty() const { return element_count() == 0; }
  core::Dims extents() const;
  auto operator<=>(const TensorPiece&) const = delete;
  bool operator==(const TensorPiece&) const = default;
};

/// Precondition: pieces of tensors of one rank.
TensorPiece intersection(const TensorPiece& a, const TensorPiece& b);
bool contains(const TensorPiece& whole, const TensorPiece& part);
/// The same elements of the tensor that has the elements of `whole`. Precondition: it has them all.
TensorPiece relative_to(const TensorPiece& whole, const TensorPiece& part);

/// The coarsest parts of a dimension such that each of the sets is a union of some of them.
std::vector<IndexSet> common_parts(const std::vector<const IndexSet*>& sets);

}  // namespace soapstone::parallel
