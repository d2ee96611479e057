// Sums of products of tensors, however they are written: sums of matrix products, products of sums,
// unit matrices that are added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/contract/contraction_tree.h"
#include "transforms/contract/product_order.h"

namespace soapstone::transforms {

struct TermSum;

/// A tensor, or a sum that is multiplied.
struct SumOperand {
  ContractionLeaf leaf = {};
  std::shared_ptr<const TermSum> sum = nullptr;  ///< Set: instead of the leaf.
  /// Set: the terms of the sum lie one behind the other along that index, and are not added.
  std::optional<std::size_t> stacked_along = {};
  bool is_unit = false;  ///< A unit matrix with the indices of the leaf, which has no tensor.
  IndexSet indices = {};
  bool is_constant = false;
};

struct SumTerm {
  bool is_negative = false;
  std::vector<SumOperand> operands;
};

struct TermSum {
  std::vector<SumTerm> terms;
  IndexSet
      result;  ///< Each term is summed over its other indices, and broadcast along what it lacks.
  double cost = 0;  ///< What it takes in all, by the measure of OrderSearch.
};

struct SumOfProducts {
  TermSum sum;  ///< Written out: all operands are tensors. Summed indices stand in one term each.
  IndexList result;
  Sizes sizes;  ///< By index.
  std::vector<core::NodeId>
      nodes;  ///< In the order of the graph; the last one computes the result.
  std::set<core::TensorId> operands;  ///< Operands that some of the nodes compute: softmaxes.
  double cost_now = 0;                ///< Of the nodes, by the same measure.
};

/// Whether the node may stand within such a sum.
bool is_sum_node(const core::Graph& graph, const core::Node& node);

/// The axis along which the node's results add up to one, and do not depend on what is added to all
/// of an operand along it. None: there is none.
std::optional<std::size_t> softmax_axis(const core::Node& node);

/// Reads them backwards from their last nodes.
class SumReader {
 public:
  explicit SumReader(const core::Graph& graph);

  /// The sum of products that the node ends, with what has grown too long as one tensor. None:
  /// there is no sum in it, or no product.
  std::optional<SumOfProducts> read(core::NodeId root) const;

 private:
  const core::Graph& graph_;
  std::vector<std::size_t> position_;  ///< In the order of the graph, by node.
};

IndexSet indices_of(const SumTerm& term);
inline bool is_constant(const SumTerm& term) {
  return std::ranges::all_of(term.operands, &SumOperand::is_constant);
}
/// Whether it is one number that does not change.
inline bool is_number(const SumOperand& operand) {
  return operand.is_constant && operand.sum == nullptr && operand.indices.empty();
}
/// With other indices in place of some.
SumOperand renamed(const SumOperand& operand, const std::map<std::size_t, std::size_t>& names);

}  // namespace soapstone::transforms
