#include "rules/contractions/contractions.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/contractions/contraction_tree.h"
#include "rules/moves/contraction_labels.h"
#include "rules/moves/move_text.h"

namespace soapstone::rules {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using Leaves = std::uint32_t;           ///< A set of leaves.
using Indices = std::set<std::size_t>;  ///< Of what they are multiplied to.

// Work beside which a launch and the reading of an element count as much on a device of today.
constexpr double kWorkOfLaunch = 5e7, kWorkOfElement = 40;
/// Of what a launch before it may take up.
constexpr double kWorkOfStep = 1e7;
/// Of what is only rounded in another way.
constexpr double kNearlyAll = 1 - 1e-9;

constexpr std::string_view kOrderDescription = "What is multiplied may be multiplied in any order.";
constexpr std::string_view kScaledDescription =
    "What scales rows and columns of a product is multiplied where there is least of it.";
constexpr std::string_view kStridedDescription =
    "A product reads and writes dimensions in any order.";

/// Which order of products costs least.
class OrderSearch {
 public:
  OrderSearch(const Graph& graph, const ContractionTree& tree) : graph_(graph), tree_(tree) {
    for (const auto& index : tree.result)
      if (index) result_.insert(*index);
    for (const ContractionLeaf& leaf : tree.leaves) {
      leaf_indices_.emplace_back();
      for (const auto& index : leaf.indices)
        if (index) leaf_indices_.back().insert(*index);
    }
  }

  Leaves all() const { return (Leaves{1} << tree_.leaves.size()) - 1; }

  /// Indices that others still need.
  const Indices& kept(Leaves leaves) const {
    const auto [known, is_new] = kept_.try_emplace(leaves);
    if (is_new) known->second = indices_kept(leaves);
    return known->second;
  }

  bool is_constant(Leaves leaves) const {
    for (std::size_t k = 0; k < tree_.leaves.size(); ++k)
      if ((leaves >> k & 1U) != 0 && !graph_.is_constant_expression(tree_.leaves[k].tensor))
        return false;
    return true;
  }

  double elements(const Indices& indices) const {
    double count = 1;
    for (const std::size_t index : indices) count *= static_cast<double>(tree_.sizes[index]);
    return count;
  }

  /// Of multiplying what the two sets were multiplied to.
  double cost(Leaves a, Leaves b) const {
    if (is_constant(a | b)) return 0;
    const Indices &of_a = kept(a), &of_b = kept(b), &of_both = kept(a | b);
    Indices involved = of_a;
    involved.insert(of_b.begin(), of_b.end());
    const double moved = elements(of_a) + elements(of_b) + elements(of_both);
    const bool may_be_step = tree_.kind == Joins::kElements && involved == of_both;
    return 2 * elements(involved) + kWorkOfElement * moved +
           (may_be_step ? kWorkOfStep : kWorkOfLaunch);
  }

  /// Whether something is summed.
  bool has_sums() const {
    return std::ranges::any_of(leaf_indices_, [&](const Indices& indices) {
      return !std::ranges::includes(result_, indices);
    });
  }

  struct Best {
    double cost = 0;
    Leaves left = 0;  ///< Multiplied by the rest; 0: a leaf.
  };

  const Best& best(Leaves leaves) {
    const auto known = best_.find(leaves);
    if (known != best_.end()) return known->second;
    Best found;
    for (Leaves left = (leaves - 1) & leaves; left != 0; left = (left - 1) & leaves) {
      const Leaves right = leaves & ~left;
      if (left < right) continue;  // the two are exchanged elsewhere
      const double now = best(left).cost + best(right).cost + cost(left, right);
      if (found.left == 0 || now < found.cost) found = {now, left};
    }
    return best_.emplace(leaves, found).first->second;
  }

  /// Of the order in which the graph multiplies; a set of more than two at once counts as one.
  double cost_now() const {
    double sum = 0;
    std::vector<Leaves> parts;
    for (const std::vector<std::size_t>& join : tree_.joins) {
      Leaves whole = 0;
      for (const std::size_t leaf : join) whole |= Leaves{1} << leaf;
      // What this joins: the sets that were joined before, and leaves.
      std::vector<Leaves> within;
      Leaves rest = whole;
      for (const Leaves part : parts)
        if ((part & whole) == part) within.push_back(part), rest &= ~part;
      std::erase_if(parts, [&](Leaves part) { return (part & whole) == part; });
      for (std::size_t k = 0; k < tree_.leaves.size(); ++k)
        if ((rest >> k & 1U) != 0) within.push_back(Leaves{1} << k);
      Leaves so_far = within[0];
      // A sum of what was multiplied before.
      if (within.size() == 1 && !std::has_single_bit(whole) && !is_constant(whole))
        sum += kWorkOfLaunch;
      for (std::size_t k = 1; k < within.size(); ++k) {
        sum += cost(so_far, within[k]);
        so_far |= within[k];
      }
      parts.push_back(whole);
    }
    return sum;
  }

 private:
  Indices indices_kept(Leaves leaves) const {
    Indices needed = result_, own;
    for (std::size_t k = 0; k < leaf_indices_.size(); ++k) {
      Indices& into = (leaves >> k & 1U) != 0 ? own : needed;
      into.insert(leaf_indices_[k].begin(), leaf_indices_[k].end());
    }
    // What a single leaf sums alone is summed when it is multiplied.
    if (std::has_single_bit(leaves)) return own;
    Indices both;
    std::ranges::set_intersection(own, needed, std::inserter(both, both.begin()));
    return both;
  }

  const Graph& graph_;
  const ContractionTree& tree_;
  Indices result_;
  std::vector<Indices> leaf_indices_;
  std::map<Leaves, Best> best_;
  mutable std::map<Leaves, Indices> kept_;
};

/// The rule for the best order.
class OrderWriter {
 public:
  OrderWriter(const Graph& graph, const ContractionTree& tree, OrderSearch& search)
      : graph_(graph), tree_(tree), search_(search) {}

  /// Of a rule with such a name.
  std::string text(std::string_view prefix) {
    for (const ContractionLeaf& leaf : tree_.leaves) declare(leaf.tensor);
    std::map<TensorId, std::string> names = names_;
    for (const NodeId id : tree_.nodes) {
      const Node& node = graph_.node(id);
      Names operands;
      for (const TensorId input : node.inputs) operands.push_back(names.at(input));
      names[node.outputs[0]] = source_.line(call_of(graph_, node, operands));
    }
    const Node& last = graph_.node(tree_.nodes.back());
    const Product product = multiplied(search_.all(), &tree_.result);
    const Sizes shape = known_sizes(graph_.tensor(last.outputs[0]).type.shape);
    const std::string y =
        target_.reshaped(product.name, names_of(sizes_of(product.indices)), names_of(shape));
    return rule_text(fmt::format("{}{}", prefix, last.op->name), head_, source_,
                     {names.at(last.outputs[0])}, target_, {y});
  }

 private:
  /// A tensor of the target, with a dimension for each.
  struct Product {
    std::string name;
    std::vector<std::size_t> indices;
  };

  void declare(TensorId id) {
    if (names_.contains(id)) return;
    const core::TensorType& type = graph_.tensor(id).type;
    names_[id] = fmt::format("x{}", names_.size());
    head_ +=
        fmt::format("  {}: {}\n", names_[id], declared(type, names_of(known_sizes(type.shape))));
  }

  Sizes sizes_of(const std::vector<std::size_t>& indices) const {
    Sizes sizes;
    for (const std::size_t index : indices) sizes.push_back(tree_.sizes[index]);
    return sizes;
  }

  Product leaf(std::size_t number) {
    const ContractionLeaf& leaf = tree_.leaves[number];
    Product product;
    for (const auto& index : leaf.indices)
      if (index) product.indices.push_back(*index);
    product.name = target_.reshaped(names_.at(leaf.tensor),
                                    names_of(known_sizes(graph_.tensor(leaf.tensor).type.shape)),
                                    names_of(sizes_of(product.indices)));
    return product;
  }

  Product multiplied(Leaves leaves, const IndexList* wanted = nullptr) {
    const OrderSearch::Best& best = search_.best(leaves);
    if (best.left == 0) return leaf(static_cast<std::size_t>(std::countr_zero(leaves)));
    const Product a = multiplied(best.left), b = multiplied(leaves & ~best.left);
    Product product;
    if (wanted != nullptr) {
      for (const auto& index : *wanted)
        if (index) product.indices.push_back(*index);
    } else {
      product.indices = order_of(a, b, search_.kept(leaves));
    }
    product.name = target_.line(call(a, b, product.indices));
    return product;
  }

  static bool has(const Product& product, std::size_t index) {
    return std::ranges::find(product.indices, index) != product.indices.end();
  }

  /// Those of both, of the first one, of the second one.
  static std::vector<std::size_t> order_of(const Product& a, const Product& b,
                                           const Indices& kept) {
    std::vector<std::size_t> order;
    for (const std::size_t index : a.indices)
      if (kept.contains(index) && has(b, index)) order.push_back(index);
    for (const std::size_t index : a.indices)
      if (kept.contains(index) && !has(b, index)) order.push_back(index);
    for (const std::size_t index : b.indices)
      if (kept.contains(index) && !has(a, index)) order.push_back(index);
    return order;
  }

  /// A tensor whose dimensions the result has, in their order, with others of size 1 between them.
  std::optional<std::string> broadcast(const Product& product,
                                       const std::vector<std::size_t>& result) {
    Sizes sizes;
    std::size_t found = 0;
    for (const std::size_t index : result) {
      const bool is_next = found < product.indices.size() && product.indices[found] == index;
      if (is_next) ++found;
      sizes.push_back(is_next ? tree_.sizes[index] : 1);
    }
    if (found < product.indices.size()) return std::nullopt;
    return target_.reshaped(product.name, names_of(sizes_of(product.indices)), names_of(sizes));
  }

  std::string call(const Product& a, const Product& b, const std::vector<std::size_t>& result) {
    const bool has_number = a.indices.empty() || b.indices.empty();
    const bool scales = has_number || tree_.kind == Joins::kElements;
    if (scales && (a.indices == result || b.indices == result)) {
      const auto x = has_number ? a.name : broadcast(a, result);
      const auto y = has_number ? b.name : broadcast(b, result);
      if (x && y) return fmt::format("mul({}, {})", *x, *y);
    }
    if (is_matmul(a.indices, b.indices, result))
      return fmt::format("matmul({}, {})", a.name, b.name);
    if (is_matmul(b.indices, a.indices, result))
      return fmt::format("matmul({}, {})", b.name, a.name);
    std::map<std::size_t, char> letters;
    const auto labels = [&](const std::vector<std::size_t>& indices) {
      std::string text;
      for (const std::size_t index : indices)
        text += letters.emplace(index, static_cast<char>('a' + letters.size())).first->second;
      return text;
    };
    const std::string of_a = labels(a.indices), of_b = labels(b.indices);
    return fmt::format("einsum({}, {}; equation=\"{},{}->{}\")", a.name, b.name, of_a, of_b,
                       labels(result));
  }

  /// Whether the two are a batch of matrices with their dimensions where a product wants them.
  static bool is_matmul(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b,
                        const std::vector<std::size_t>& result) {
    if (a.size() < 2 || b.size() < 2 || result.size() < 2) return false;
    const std::size_t summed = a.back();
    if (b[b.size() - 2] != summed || result.back() != b.back() || b.back() == summed) return false;
    std::vector<std::size_t> expected(a.begin(), a.end() - 1);
    expected.push_back(b.back());
    if (expected != result) return false;
    const std::vector<std::size_t> batch(b.begin(), b.end() - 2);
    return batch.empty() ||
           (a.size() == b.size() && std::equal(batch.begin(), batch.end(), a.begin()));
  }

  const Graph& graph_;
  const ContractionTree& tree_;
  OrderSearch& search_;
  std::map<TensorId, std::string> names_;  ///< Of leaves.
  std::string head_;
  SideText source_, target_;
};

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
    OrderSearch search(graph, *tree);
    const bool is_best = search.best(search.all()).cost > kNearlyAll * search.cost_now();
    use(node, *tree, search, is_best);
  }
}

RewritePlan plan_of(const Node& node, std::string text, std::string_view description) {
  return {{{.results = node.outputs,
            .texts = {std::move(text)},
            .description = description,
            .floats = FloatBehavior::kReassociates}}};
}

}  // namespace

std::vector<RewritePlan> find_contractions(const Graph& graph) {
  std::vector<RewritePlan> plans;
  for_each_product(
      graph, Joins::kProducts,
      [&](const Node& node, const ContractionTree& tree, OrderSearch& search, bool is_best) {
        if (tree.leaves.size() < 3 || is_best) return;
        plans.push_back(plan_of(node, OrderWriter(graph, tree, search).text(kContractionPrefix),
                                kOrderDescription));
      });
  return plans;
}

std::vector<RewritePlan> find_scaled_products(const Graph& graph) {
  std::vector<RewritePlan> plans;
  for_each_product(
      graph, Joins::kElements,
      [&](const Node& node, const ContractionTree& tree, OrderSearch& search, bool is_best) {
        if (is_best || !search.has_sums()) return;
        plans.push_back(plan_of(node, OrderWriter(graph, tree, search).text(kScaledPrefix),
                                kScaledDescription));
      });
  return plans;
}

std::vector<RewritePlan> find_strided_products(const Graph& graph) {
  std::vector<RewritePlan> plans;
  for_each_product(
      graph, Joins::kProducts,
      [&](const Node& node, const ContractionTree& tree, OrderSearch& search, bool is_best) {
        if (tree.transposes == 0 || !is_best) return;
        plans.push_back(plan_of(node, OrderWriter(graph, tree, search).text(kStridedPrefix),
                                kStridedDescription));
      });
  return plans;
}

}  // namespace soapstone::rules
