// Copies a box of elements between any two sets of strides: what transposes, slices, joins,
// broadcasts and layout conversions all come to.
#pragma once

#include <cstddef>
#include <optional>

#include "cpu/base/bound_primitive.h"

namespace soapstone::cpu {

struct CopyBox {
  core::Dims dims;
  core::Dims from_strides, to_strides;  ///< In elements; 0 repeats, negative runs backwards.
  std::int64_t from_offset = 0, to_offset = 0;
};

class StridedCopy {
 public:
  /// Throws dnnl::error.
  StridedCopy(const CopyBox& box, std::size_t element_bytes, const dnnl::engine& engine);
  void run(const std::byte* from, std::byte* to, const dnnl::stream& stream, int threads,
           std::byte* scratch);
  std::size_t scratch_bytes() const { return reorder_ ? reorder_->scratch_bytes() : 0; }
  bool by_onednn() const { return reorder_.has_value(); }

 private:
  void copy_rows(const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end) const;
  void copy_row(const std::byte* from, std::byte* to) const;

  CopyBox box_;  // merged; the innermost dimension is that of the smallest target stride
  std::size_t element_bytes_;
  std::int64_t rows_ = 1;
  std::optional<BoundPrimitive> reorder_;
  std::size_t reorder_from_ = 0, reorder_to_ = 0;
};

}  // namespace soapstone::cpu
