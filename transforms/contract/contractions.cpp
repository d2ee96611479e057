#include "transforms/contract/contractions.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "transforms/contract/contraction_tree.h"
#include "transforms/contract/product_order.h"
#include "transforms/contract/rule_head.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
/// Of what is only rounded in another way.
constexpr double kNearlyAll = 1 - 1e-9;

constexpr std::string_view kOrderDescription = "What is multiplied may be multiplied in any order.";
constexpr std::string_view kScaledDescription =
    "What scales rows and columns of a product is multiplied where there is least of it.";
constexpr std::string_view kStridedDescription =
    "A product reads and writes dimensions in any order.";

/// What the tree multiplies.
IndexedProduct product_of(const Graph& graph, const ContractionTree& tree) {
  IndexedProduct product{{}, indices_of(tree.result), tree.kind >= Joins::kElements};
  for (const ContractionLeaf& leaf : tree.leaves)
    product.operands.push_back(
        {indices_of(leaf.indices), graph.is_constant_expression(leaf.tensor)});
  return product;
}

/// The rule for the best order, of a rule with such a name.
std::string order_text(const Graph& graph, const ContractionTree& tree, OrderSearch& search,
                       std::string_view prefix) {
  RuleHead head(graph);
  SideText source, target;
  for (const ContractionLeaf& leaf : tree.leaves) head.declare(leaf.tensor);
  const std::string result = head.written(tree.nodes, source);
  ProductWriter writer(target, tree.sizes);
  const auto leaf = [&](std::size_t k) { return head.indexed(tree.leaves[k], tree.sizes, target); };
  std::vector<std::size_t> wanted;
  for (const auto& index : tree.result)
    if (index) wanted.push_back(*index);
  const IndexedName product = writer.write(search, leaf, &wanted);
  const Node& last = graph.node(tree.nodes.back());
  const Sizes shape = known_sizes(graph.tensor(last.outputs[0]).type.shape);
  std::string y =
      target.reshaped(product.name, names_of(writer.sizes_of(product.indices)), names_of(shape));
  for (const std::int64_t n : tree.averaged) {
    const std::string row = target.line(fmt::format("eye(; shape=[1, {}])", n));
    const std::string part =
        target.line(fmt::format("reduce_mean({}; axes=[0, 1], keep_dims=0)", row));
    y = target.line(elementwise_product(y, part));
  }
  return rule_text(fmt::format("{}{}", prefix, last.op->name), head.text(), source, {result},
                   target, {y});
}

/// Whether a longer product goes on with what the node computes.
bool goes_on(const Graph& graph, const Node& node, Joins kind) {
  const auto readers = graph.consumers(node.outputs[0]);
  return readers.size() == 1 && !graph.is_output(node.outputs[0]) &&
         is_contraction_node(graph, graph.node(readers[0]), kind);
}

/// The products that end at a node and do not go on, each with the search of its best order.
template <class Use>
void for_each_product(const Graph& graph, Joins kind, Use use) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (graph.is_constant_expression(id) || !is_contraction_node(graph, node, kind) ||
        goes_on(graph, node, kind))
      continue;
    const auto tree = contraction_tree(graph, node, kind);
    if (!tree) continue;
    const IndexedProduct product = product_of(graph, *tree);
    OrderSearch search(product, tree->sizes);
    const bool is_best = search.best(search.all()).cost > kNearlyAll * search.cost_of(tree->joins);
    use(node, *tree, search, is_best);
  }
}

RewriteSequence plan_of(const Node& node, std::string text, std::string_view description) {
  return {{{.results = node.outputs,
            .texts = {std::move(text)},
            .description = description,
            .floats = FloatBehavior::kReassociates}}};
}

}  // namespace

std::vector<RewriteSequence> find_contractions(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for_each_product(
      graph, Joins::kProducts,
      [&](const Node& node, const ContractionTree& tree, OrderSearch& search, bool is_best) {
        if (tree.leaves.size() < 3 || is_best) return;
        plans.push_back(
            plan_of(node, order_text(graph, tree, search, kContractionPrefix), kOrderDescription));
      });
  return plans;
}

std::vector<RewriteSequence> find_scaled_products(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  const auto divides = [](const ContractionLeaf& leaf) { return leaf.divides; };
  const auto add = [&](const Node& node, const ContractionTree& tree, OrderSearch& search,
                       bool is_best) {
    const bool is_as_with_means =
        tree.kind == Joins::kQuotients && std::ranges::none_of(tree.leaves, divides);
    if (is_best || is_as_with_means || !search.has_sums()) return;
    plans.push_back(
        plan_of(node, order_text(graph, tree, search, kScaledPrefix), kScaledDescription));
  };
  // A factor may be better in a weight than beside what divides, so there is a plan without, first.
  for_each_product(graph, Joins::kMeans, add);
  const auto is_quotient = [&](NodeId id) {
    return ops::arithmetic_of(*graph.node(id).op) == ops::Arithmetic::kQuotient;
  };
  if (std::ranges::any_of(graph.order(), is_quotient))
    for_each_product(graph, Joins::kQuotients, add);
  return plans;
}

std::vector<RewriteSequence> find_strided_products(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for_each_product(
      graph, Joins::kProducts,
      [&](const Node& node, const ContractionTree& tree, OrderSearch& search, bool is_best) {
        if (tree.transposes == 0 || !is_best) return;
        plans.push_back(
            plan_of(node, order_text(graph, tree, search, kStridedPrefix), kStridedDescription));
      });
  return plans;
}

}  // namespace soapstone::transforms
