// A product of several tensors, however it is written: matrix products, einsums, transposes, sums
// along axes, numbers that are multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/side_text.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

/// Indices that dimensions run over; none: a size of 1.
using IndexList = std::vector<std::optional<std::size_t>>;

/// The part of a tensor from `start` along an axis that has that size.
struct LeafPiece {
  std::size_t axis;
  std::int64_t start, size;
  bool operator==(const LeafPiece&) const = default;
};

struct ContractionLeaf {
  core::TensorId tensor;
  IndexList indices;  ///< Of its dimensions; of a merged one, in a product, those of its parts.
  std::optional<LeafPiece> piece = {};  ///< None: all of the tensor.
  bool divides = false;                 ///< It is what the others are divided by.
};

/// What is taken for a part of a product.
enum class Joins : std::uint8_t {
  kProducts,   ///< Matrix products, einsums, transposes, and products with a number.
  kElements,   ///< And products of elements, sums, and dimensions of size 1 that come and go.
  kMeans,      ///< And means, which are sums of which a part is taken.
  kQuotients,  ///< And quotients of elements.
};

struct ContractionTree {
  Joins kind = Joins::kProducts;
  std::vector<ContractionLeaf> leaves;
  IndexList result;
  Sizes sizes;  ///< By index.
  std::vector<core::NodeId>
      nodes;  ///< In the order of the graph; the last one computes the result.
  /// For each pair that is multiplied, and each tensor that is summed or scaled alone: the leaves.
  std::vector<std::vector<std::size_t>> joins;
  std::size_t transposes = 0;  ///< Among the nodes.
  Sizes averaged;              ///< The sum is divided by these: how many a mean has summed.
};

/// The product that the node ends. None: it is no product of several tensors, or there are sizes
/// that are no numbers, diagonals, or products of too many.
std::optional<ContractionTree> contraction_tree(const core::Graph& graph, const core::Node& node,
                                                Joins kind = Joins::kProducts);

/// The operand of a product of elements that is one number for all of them; none: there is none.
std::optional<std::size_t> number_operand(const core::Graph& graph, const core::Node& node);

/// Whether the node may stand within such a product.
bool is_contraction_node(const core::Graph& graph, const core::Node& node,
                         Joins kind = Joins::kProducts);

/// Whether it is that, a sum or difference of two tensors, or a tensor that is repeated.
bool is_term_node(const core::Graph& graph, const core::Node& node);

/// New indices for the dimensions of the node's result.
IndexList indices_of_result(const core::Graph& graph, const core::Node& node, Sizes& sizes);

/// The indices of each operand of a node whose result has those; what is summed has new ones. None:
/// a diagonal. Precondition: is_term_node.
std::optional<std::vector<IndexList>> operand_indices(const core::Graph& graph,
                                                      const core::Node& node,
                                                      const IndexList& result, Sizes& sizes);

}  // namespace soapstone::transforms
