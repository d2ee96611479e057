// A product as libraries for linear algebra take it: matrices in column-major order, one of which
// may be transposed in memory, at one distance from batch to batch, with a bias and one of a few
// functions behind it. Knows no library.
#pragma once

#include <optional>

#include "gpu/forms/product.h"

namespace soapstone::gpu {

/// A matrix in memory: `rows` neighboring elements, then `leading` elements to the next column.
struct StridedMatrix {
  core::TensorId id;
  std::int64_t offset = 0;  ///< In elements.
  std::int64_t rows = 1, columns = 1, leading = 1, batch_stride = 0;
  bool is_transposed = false;  ///< The factor is the transpose of what lies in memory.
};

enum class MatrixFunction : std::uint8_t { kNone, kRelu, kGelu };

/// result = function(alpha · left · right + beta · addend + bias), where the bias has a number for
/// each row of the result.
struct MatrixProduct {
  core::DataType data_type = core::DataType::kFloat32;
  std::int64_t rows = 1, columns = 1, summed = 1, batch = 1;
  StridedMatrix left, right, result;
  std::optional<StridedMatrix> addend;
  std::optional<StridedMatrix> bias;
  MatrixFunction function = MatrixFunction::kNone;
  double alpha = 1, beta = 0;
};

/// What `product` is to such libraries; they compute its transpose, whose columns are contiguous.
/// Their GELU is the one by tanh: that by erf is replaced by it where elements have 16 bits, which
/// do not tell one from the other. Errors: kUnsupported, with the reason.
core::Result<MatrixProduct> matrix_product_of(const Region& region, const Product& product);

}  // namespace soapstone::gpu
