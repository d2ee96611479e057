#include "transforms/contract/contraction_tree.h"

#include <algorithm>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::TensorId;

constexpr std::size_t kMostLeaves = 8;

bool has_numbers(const Graph& graph, TensorId id) {
  if (!id.valid()) return false;
  const core::TensorType& type = graph.tensor(id).type;
  return type.shape_known && core::concrete(type.shape) && core::is_floating(type.data_type) &&
         std::ranges::none_of(type.shape,
                              [](const core::Polynomial& n) { return n.constant() < 1; });
}

std::size_t elements_of(const Graph& graph, TensorId id) {
  return static_cast<std::size_t>(product_of(known_sizes(graph.tensor(id).type.shape)));
}

Sizes without_ones(const Sizes& sizes) {
  Sizes large;
  for (const std::int64_t size : sizes)
    if (size != 1) large.push_back(size);
  return large;
}

bool is_product_of_elements(const Node& node) {
  return ops::arithmetic_of(*node.op) == ops::Arithmetic::kProduct;
}

bool is_quotient_of_elements(const Node& node) {
  return ops::arithmetic_of(*node.op) == ops::Arithmetic::kQuotient;
}

bool is_sum_of_elements(const Node& node) {
  const ops::Arithmetic arithmetic = ops::arithmetic_of(*node.op);
  return arithmetic == ops::Arithmetic::kSum || arithmetic == ops::Arithmetic::kDifference;
}

/// A sum or a mean over axes.
bool is_sum(const Graph& graph, const Node& node) {
  return ops::definition_of(node)->op_class == ops::OpClass::kReduction &&
         node.op->find_role(AttributeRole::kAxes) != nullptr &&
         linearity_in(graph, node, {true}).has_value();
}

/// Dimensions of size 1 are added or dropped, and nothing else.
bool changes_ones(const Graph& graph, const Node& node) {
  const auto sizes = [&](TensorId id) {
    return without_ones(known_sizes(graph.tensor(id).type.shape));
  };
  return node.op->movement == core::Movement::kReshape &&
         sizes(node.inputs[0]) == sizes(node.outputs[0]);
}

bool is_join_of_elements(const Graph& graph, const Node& node, Joins kind = Joins::kElements) {
  if (node.op->is_opaque()) return false;
  if (is_quotient_of_elements(node)) return kind >= Joins::kQuotients;
  return (kind >= Joins::kMeans || !node.op->averages) &&
         (is_product_of_elements(node) || is_sum(graph, node) || changes_ones(graph, node));
}

/// Letters of the operands and of the result; of dimensions that a sum keeps with size 1 there are
/// none elsewhere.
std::vector<std::string> element_labels(const Graph& graph, const Node& node) {
  const auto letters = [&](TensorId id) {
    std::string all;
    for (std::size_t d = 0; d < graph.tensor(id).type.shape.size(); ++d)
      all += static_cast<char>('a' + d);
    return all;
  };
  const std::string of_result = letters(node.outputs[0]);
  if (is_product_of_elements(node) || is_quotient_of_elements(node) || is_sum_of_elements(node) ||
      node.op->movement == core::Movement::kRepeat) {
    std::vector<std::string> all;
    for (const TensorId input : node.inputs)
      all.push_back(of_result.substr(of_result.size() - letters(input).size()));
    all.push_back(of_result);
    return all;
  }
  const std::string whole = letters(node.inputs[0]);
  const bool keeps = of_result.size() == whole.size();
  std::string kept = whole;
  const auto axes = ops::sizes_by_role(node, AttributeRole::kAxes);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto d = static_cast<std::size_t>(axis->constant());
    if (keeps)
      kept[d] = static_cast<char>('A' + d);
    else
      kept.erase(d, 1);
  }
  return {whole, kept};
}

/// The indices of a tensor that has those of the result and dimensions of size 1.
IndexList with_ones(const Sizes& shape, const IndexList& result) {
  IndexList indices;
  auto next = result.begin();
  for (const std::int64_t size : shape) {
    indices.emplace_back();
    if (size == 1) continue;
    while (!*next) ++next;
    indices.back() = *next++;
  }
  return indices;
}

IndexList permuted(const Node& node, const IndexList& result) {
  IndexList indices(result.size());
  const auto order = ops::sizes_by_role(node, AttributeRole::kPermutation);
  for (std::size_t d = 0; d < order.size(); ++d)
    indices[static_cast<std::size_t>(order[d].constant())] = result[d];
  return indices;
}

class TreeReader {
 public:
  TreeReader(const Graph& graph, Joins kind) : graph_(graph) { tree_.kind = kind; }

  std::optional<ContractionTree> read(const Node& root) {
    tree_.result = indices_of_result(graph_, root, tree_.sizes);
    if (!visit(root, tree_.result)) return std::nullopt;
    if (tree_.leaves.size() < 2) return std::nullopt;
    return std::move(tree_);
  }

 private:
  /// Reads the node whose result has these indices: all leaves in front of it.
  bool visit(const Node& node, const IndexList& result) {
    const std::size_t first = tree_.leaves.size(), first_summed = tree_.sizes.size();
    auto indices = operand_indices(graph_, node, result, tree_.sizes);
    if (!indices) return false;
    const auto merge = merged_operand(node, *indices, first_summed);
    if (merge) divide(*merge, *indices);
    for (std::size_t k = 0; k < indices->size(); ++k) {
      if (merge && merge->operand != k && (*indices)[k].size() != rank_of(node.inputs[k])) {
        if (!add_leaf(node.inputs[k], (*indices)[k])) return false;
      } else if (merge && merge->operand == k) {
        if (!operand(merge->reshape->inputs[0], (*indices)[k])) return false;
        tree_.nodes.push_back(node_id(*merge->reshape));
      } else if (k == 1 && is_quotient_of_elements(node)) {
        if (!add_leaf(node.inputs[k], (*indices)[k])) return false;
        tree_.leaves.back().divides = true;
      } else if (!operand(node.inputs[k], (*indices)[k])) {
        return false;
      }
    }
    tree_.nodes.push_back(node_id(node));
    if (node.op->movement == core::Movement::kPermute) ++tree_.transposes;
    if (node.op->averages)
      for (const core::Polynomial& axis : ops::sizes_by_role(node, AttributeRole::kAxes))
        tree_.averaged.push_back(known_sizes(
            graph_.tensor(node.inputs[0]).type.shape)[static_cast<std::size_t>(axis.constant())]);
    if (node.op->movement != core::Movement::kNone) return true;
    std::vector<std::size_t> joined;
    for (std::size_t k = first; k < tree_.leaves.size(); ++k) joined.push_back(k);
    tree_.joins.push_back(std::move(joined));
    return true;
  }

  core::NodeId node_id(const Node& node) const { return graph_.tensor(node.outputs[0]).producer; }

  bool operand(TensorId id, const IndexList& indices) {
    if (!has_numbers(graph_, id)) return false;
    const core::NodeId producer = graph_.tensor(id).producer;
    if (producer.valid() && !graph_.is_constant_expression(id) &&
        is_contraction_node(graph_, graph_.node(producer), tree_.kind) &&
        (is_inner(id) || is_computed_again(graph_.node(producer))))
      return visit(graph_.node(producer), indices);
    return add_leaf(id, indices);
  }
  bool add_leaf(TensorId id, const IndexList& indices) {
    tree_.leaves.push_back({id, indices});
    return tree_.leaves.size() <= kMostLeaves;
  }
  std::size_t rank_of(TensorId id) const { return graph_.tensor(id).type.shape.size(); }

  /// An operand of a product that merges dimensions into the one that is summed over.
  struct Merge {
    std::size_t operand;
    const Node* reshape;
    std::size_t summed;  ///< The index of the merged dimension.
    Sizes parts;
  };

  std::optional<Merge> merged_operand(const Node& node, const std::vector<IndexList>& indices,
                                      std::size_t first_summed) const {
    if (!is_product(node) && !is_equation(node)) return std::nullopt;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const core::NodeId producer = graph_.tensor(node.inputs[k]).producer;
      if (!producer.valid() || graph_.is_constant_expression(producer) ||
          !is_inner(node.inputs[k]) ||
          graph_.node(producer).op->movement != core::Movement::kReshape ||
          !has_known_sizes(graph_, graph_.node(producer)))
        continue;
      const Node& reshape = graph_.node(producer);
      const Sizes from = known_sizes(graph_.tensor(reshape.inputs[0]).type.shape),
                  to = known_sizes(graph_.tensor(reshape.outputs[0]).type.shape);
      if (from.size() <= to.size()) continue;
      const auto same = std::ranges::mismatch(from, to).in2 - to.begin();
      const auto behind = static_cast<std::ptrdiff_t>(to.size()) - same - 1;
      if (behind < 0 || !std::equal(to.end() - behind, to.end(), from.end() - behind)) continue;
      const auto summed = indices[k][static_cast<std::size_t>(same)];
      Sizes parts(from.begin() + same, from.end() - behind);
      if (summed && *summed >= first_summed && std::ranges::count(parts, 1) == 0)
        return Merge{k, &reshape, *summed, std::move(parts)};
    }
    return std::nullopt;
  }

  /// Gives each part of the merged dimension an index of its own, in all operands that have it.
  void divide(const Merge& merge, std::vector<IndexList>& indices) {
    IndexList own;
    for (const std::int64_t size : merge.parts) {
      own.emplace_back(tree_.sizes.size());
      tree_.sizes.push_back(size);
    }
    for (IndexList& list : indices) {
      const auto at = std::ranges::find(list, std::optional(merge.summed));
      if (at == list.end()) continue;
      list.insert(list.erase(at), own.begin(), own.end());
    }
  }

  bool is_inner(TensorId id) const {
    return !graph_.is_output(id) && graph_.consumers(id).size() == 1;
  }
  /// What others read, too, is computed once more where that takes no time.
  bool is_computed_again(const Node& node) const {
    return tree_.kind >= Joins::kElements && is_join_of_elements(graph_, node) &&
           !is_sum(graph_, node);
  }

  const Graph& graph_;
  ContractionTree tree_;
};

}  // namespace

std::optional<std::size_t> number_operand(const Graph& graph, const Node& node) {
  if (!is_product_of_elements(node) || !has_numbers(graph, node.inputs[0]) ||
      !has_numbers(graph, node.inputs[1]))
    return std::nullopt;
  for (const std::size_t k : {0, 1}) {
    const core::Shape& other = graph.tensor(node.inputs[1 - k]).type.shape;
    if (elements_of(graph, node.inputs[k]) == 1 &&
        other.size() == graph.tensor(node.outputs[0]).type.shape.size())
      return k;
  }
  return std::nullopt;
}

bool is_term_node(const Graph& graph, const Node& node) {
  if (is_contraction_node(graph, node, Joins::kElements)) return true;
  const bool is_such = is_sum_of_elements(node) || node.op->movement == core::Movement::kRepeat;
  return is_such && has_numbers(graph, node.outputs[0]) &&
         std::ranges::all_of(node.inputs, [&](TensorId id) { return has_numbers(graph, id); });
}

bool is_contraction_node(const Graph& graph, const Node& node, Joins kind) {
  if (node.outputs.size() != 1 || !has_numbers(graph, node.outputs[0]) ||
      !std::ranges::all_of(node.inputs, [&](TensorId id) { return has_numbers(graph, id); }))
    return false;
  return is_product(node) || is_equation(node) || node.op->movement == core::Movement::kPermute ||
         number_operand(graph, node).has_value() ||
         (kind >= Joins::kElements && is_join_of_elements(graph, node, kind));
}

std::optional<std::vector<IndexList>> operand_indices(const Graph& graph, const Node& node,
                                                      const IndexList& result, Sizes& sizes) {
  const auto shape = [&](TensorId id) { return known_sizes(graph.tensor(id).type.shape); };
  if (const auto number = number_operand(graph, node)) {
    std::vector<IndexList> all(2, result);
    all[*number] = IndexList(shape(node.inputs[*number]).size());
    return all;
  }
  if (node.op->movement == core::Movement::kPermute)
    return std::vector<IndexList>{permuted(node, result)};
  if (node.op->movement == core::Movement::kReshape)
    return std::vector<IndexList>{with_ones(shape(node.inputs[0]), result)};
  const auto labels = is_contraction_node(graph, node) ? contraction_labels(graph, node)
                                                       : element_labels(graph, node);
  if (labels.size() != node.inputs.size() + 1) return std::nullopt;
  std::map<char, std::optional<std::size_t>> index;
  for (std::size_t d = 0; d < result.size(); ++d) index[labels.back()[d]] = result[d];
  std::vector<IndexList> all;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const Sizes of_operand = shape(node.inputs[k]);
    IndexList& indices = all.emplace_back();
    for (std::size_t d = 0; d < of_operand.size(); ++d) {
      const char letter = labels[k][d];
      if (labels[k].find(letter) != labels[k].rfind(letter)) return std::nullopt;  // a diagonal
      if (of_operand[d] > 1 && !index[letter]) {
        index[letter] = sizes.size();
        sizes.push_back(of_operand[d]);
      }
      indices.push_back(of_operand[d] == 1 ? std::nullopt : index[letter]);
    }
  }
  return all;
}

IndexList indices_of_result(const Graph& graph, const Node& node, Sizes& sizes) {
  IndexList result;
  for (const std::int64_t size : known_sizes(graph.tensor(node.outputs[0]).type.shape)) {
    result.push_back(size == 1 ? std::nullopt : std::optional(sizes.size()));
    if (size != 1) sizes.push_back(size);
  }
  return result;
}

std::optional<ContractionTree> contraction_tree(const Graph& graph, const Node& node, Joins kind) {
  if (!is_contraction_node(graph, node, kind)) return std::nullopt;
  return TreeReader(graph, kind).read(node);
}

}  // namespace soapstone::transforms
