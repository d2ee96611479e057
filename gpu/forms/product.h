// Products of matrices in expressions: which loops are rows, columns, batches and summed, with the
// strides of both factors and of the result. Transposed, cut and reshaped factors differ in strides
// only.
#pragma once

#include <optional>
#include <vector>

#include "gpu/forms/flat_expression.h"

namespace soapstone::gpu {

using runtime::generated::Region;

/// A loop of a product, and how far apart its neighbors lie in each tensor, in elements.
struct ProductLoop {
  std::uint32_t variable = 0;  ///< The innermost of those that are one loop.
  std::int64_t size = 1;
  std::int64_t left = 0, right = 0, result = 0;
};

/// result[batch…, row, column] = function of scale · Σ left[batch…, row, summed] ·
/// right[batch…, summed, column], and of other tensors at [batch…, row, column].
struct Product {
  FlatExpression expression;          ///< Its axes are the loops of batches, rows and columns.
  std::size_t sum = 0;                ///< Its node that is the product.
  std::uint32_t left = 0, right = 0;  ///< Tensors of the region.
  std::int64_t left_offset = 0, right_offset = 0;
  double scale = 1;
  std::vector<ProductLoop> batch;  ///< Outermost first. A factor that has no such loop: stride 0.
  ProductLoop row, column, summed;
};

/// The region's only output as a product. Columns lie side by side in the result, if any loop does.
/// Errors: kUnsupported if it is none, or has several sums, or loops that no stride describes.
core::Result<Product> product_of(const Region& region, const core::Dims& dims);
/// The same of any tensor of the region; `known` is read as if it were in memory.
core::Result<Product> product_of(const Region& region, std::uint32_t tensor, const core::Dims& dims,
                                 std::optional<std::uint32_t> known);

}  // namespace soapstone::gpu
