// Contractions of contractions: all that they multiply may be multiplied in any order, of which the
// cheapest is found.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `contraction_of_matmul`.
inline constexpr std::string_view kContractionPrefix = "contraction_of_";

/// How the names of rules begin whose products have products of elements among them.
inline constexpr std::string_view kScaledPrefix = "scaled_product_of_";

/// How the names of rules begin whose products read and write transposed tensors.
inline constexpr std::string_view kStridedPrefix = "strided_product_of_";

/// A plan for each product of three to eight tensors that another order makes cheaper. Complexity:
/// 3 to the power of the number of tensors, for each product.
std::vector<RewriteSequence> find_contractions(const core::Graph& graph);
inline constexpr Transform kProductOrders{"product_orders",
                                          "products of several tensors in the cheapest order",
                                          find_contractions,
                                          {kContractionPrefix}};

/// The same with products and quotients of elements, which scale rows and columns, and with sums.
/// What others read is computed again.
std::vector<RewriteSequence> find_scaled_products(const core::Graph& graph);
inline constexpr Transform kScaledProducts{"scaled_products",
                                           "likewise, with scales and sums between",
                                           find_scaled_products,
                                           {kScaledPrefix}};

/// A plan for each product of two to eight tensors with transposes in it that is in the best order:
/// einsums without any, a gain where kernels read and write any strides. Complexity: the same.
std::vector<RewriteSequence> find_strided_products(const core::Graph& graph);
inline constexpr Transform kEinsums{
    "einsums", "transposes become part of a product", find_strided_products, {kStridedPrefix}};

}  // namespace soapstone::transforms
