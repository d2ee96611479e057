#include "transforms/contract/sum_of_products.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostNodes = 48, kMostTerms = 24, kMostOperands = 7, kMostNumbers = 16;

bool is_difference(const Node& node) {
  return ops::arithmetic_of(*node.op) == ops::Arithmetic::kDifference;
}
bool is_sum_of_two(const Node& node) {
  return ops::arithmetic_of(*node.op) == ops::Arithmetic::kSum || is_difference(node);
}
bool is_unit(const Graph& graph, TensorId id) {
  const NodeId producer = graph.tensor(id).producer;
  const core::Shape& shape = graph.tensor(id).type.shape;
  return producer.valid() && graph.node(producer).op->movement == core::Movement::kDiagonal &&
         shape.size() == 2 && shape[0] == shape[1];
}
bool adds_unit(const Graph& graph, const Node& node) {
  return is_sum_of_two(node) &&
         std::ranges::any_of(node.inputs, [&](TensorId id) { return is_unit(graph, id); });
}

/// A product that is written out, before unit matrices are dropped.
struct Written {
  bool is_negative = false;
  std::vector<ContractionLeaf> leaves;
};

/// One sum of products. What is no sum of few products is one tensor of it, which may turn up late:
/// then all is written out once more.
class Expansion {
 public:
  Expansion(const Graph& graph, const std::vector<std::size_t>& position, NodeId root)
      : graph_(graph), position_(position), root_(root) {}

  std::optional<SumOfProducts> read() {
    std::optional<std::vector<Written>> all;
    do {
      is_cut_ = false;
      sum_ = {};
      costs_.clear();
      find_region();
      sum_.result = indices_of_result(graph_, graph_.node(root_), sum_.sizes);
      all = visit(root_, sum_.result);
      if (!all) return std::nullopt;
    } while (is_cut_);
    sum_.sum.result = transforms::indices_of(sum_.result);
    if (!add_terms(*all)) return std::nullopt;
    add_nodes();
    return std::move(sum_);
  }

 private:
  /// Nodes of which all readers are in the region, too, and sums with a unit matrix, which go.
  void find_region() {
    region_ = {root_};
    std::set<std::pair<std::size_t, NodeId>, std::greater<>> open;
    const auto add_producers = [&](const Node& node) {
      for (const TensorId input : node.inputs) {
        const NodeId producer = graph_.tensor(input).producer;
        if (producer.valid() && !graph_.is_constant_expression(producer))
          open.emplace(position_[producer.index()], producer);
      }
    };
    add_producers(graph_.node(root_));
    while (!open.empty() && region_.size() < kMostNodes) {
      const NodeId id = open.begin()->second;
      open.erase(open.begin());
      const Node& node = graph_.node(id);
      if (cuts_.contains(id) || !is_read(node)) continue;
      if (!is_read_within(node.outputs[0]) && !adds_unit(graph_, node)) continue;
      region_.insert(id);
      add_producers(node);
    }
  }

  bool is_read(const Node& node) const {
    return is_sum_node(graph_, node) || (is_join(node) && has_known_sizes(graph_, node));
  }

  bool is_read_within(TensorId id) const {
    return !graph_.is_output(id) && std::ranges::all_of(graph_.consumers(id), [&](NodeId reader) {
      return region_.contains(reader);
    });
  }

  std::optional<std::vector<Written>> expand(TensorId id, const IndexList& indices) {
    const NodeId producer = graph_.tensor(id).producer;
    if (producer.valid() && region_.contains(producer)) return visit(producer, indices);
    return std::vector<Written>{{false, {{id, indices}}}};
  }

  static bool is_join(const Node& node) { return node.op->movement == core::Movement::kJoin; }

  /// The join that computes the operand, if it joins it along that index.
  const Node* join_along(TensorId id, const IndexList& indices, std::size_t index) const {
    const NodeId producer = graph_.tensor(id).producer;
    if (!producer.valid() || !region_.contains(producer)) return nullptr;
    const Node& node = graph_.node(producer);
    return is_join(node) && indices[ops::axis_by_role(node)] == index ? &node : nullptr;
  }

  /// A product of two joins along what is summed, or of one and of a constant that can be cut, is,
  /// piece by piece, a sum of products.
  std::optional<std::vector<Written>>
  product_of_joins(const Node& node, const std::vector<IndexList>& indices, std::size_t summed) {
    const Node* const joins[] = {join_along(node.inputs[0], indices[0], summed),
                                 join_along(node.inputs[1], indices[1], summed)};
    const auto can_be_cut = [&](std::size_t k) {
      return graph_.is_constant_expression(node.inputs[k]) && !is_unit(graph_, node.inputs[k]) &&
             std::ranges::count(indices[k], std::optional(summed)) == 1;
    };
    const Node* const whole = joins[0] != nullptr ? joins[0] : joins[1];
    for (const std::size_t k : {0, 1}) {
      if (whole == nullptr || (joins[k] == nullptr && !can_be_cut(k))) return std::nullopt;
      if (joins[k] != nullptr && joins[k]->inputs.size() != whole->inputs.size())
        return std::nullopt;
    }
    if (joins[0] == joins[1]) return std::nullopt;
    std::vector<Written> all;
    std::int64_t start = 0;
    for (std::size_t piece = 0; piece < whole->inputs.size(); ++piece) {
      const std::int64_t size = size_of_piece(*whole, piece);
      const std::size_t index = sum_.sizes.size();
      sum_.sizes.push_back(size);
      std::vector<Written> terms{{false, {}}};
      for (const std::size_t k : {0, 1}) {
        const Node* const join = joins[k];
        if (size == 1 || (join != nullptr && size_of_piece(*join, piece) != size))
          return std::nullopt;
        IndexList list = indices[k];
        const auto axis =
            static_cast<std::size_t>(std::ranges::find(list, std::optional(summed)) - list.begin());
        list[axis] = index;
        std::optional<std::vector<Written>> operand;
        if (join != nullptr)
          operand = expand(join->inputs[piece], list);
        else
          operand = {{false, {{node.inputs[k], list, LeafPiece{axis, start, size}}}}};
        if (!operand) return std::nullopt;
        terms = multiplied(terms, *operand);
      }
      start += size;
      if (!is_cut_ && !std::ranges::all_of(terms, [&](const Written& term) {
            return indices_of(term).contains(index);
          }))
        return std::nullopt;
      std::ranges::copy(terms, std::back_inserter(all));
    }
    for (const std::size_t k : {0, 1}) {
      if (joins[k] == nullptr) continue;
      const double moved = elements_along(transforms::indices_of(indices[k]), sum_.sizes);
      costs_[graph_.tensor(joins[k]->outputs[0]).producer] = kWorkOfLaunch + kWorkOfElement * moved;
    }
    return all;
  }

  std::int64_t size_of_piece(const Node& join, std::size_t k) const {
    return known_sizes(graph_.tensor(join.inputs[k]).type.shape)[ops::axis_by_role(join)];
  }

  static IndexSet indices_of(const Written& term) {
    IndexSet own;
    for (const ContractionLeaf& leaf : term.leaves) own.merge(transforms::indices_of(leaf.indices));
    return own;
  }

  std::optional<std::vector<Written>> visit(NodeId id, const IndexList& result) {
    const Node& node = graph_.node(id);
    if (!is_sum_node(graph_, node)) return cut(id, result);
    if (is_convolution(node)) return visit_convolution(id, result);
    const std::size_t first_new = sum_.sizes.size();
    const auto indices = operand_indices(graph_, node, result, sum_.sizes);
    if (!indices) return cut(id, result);
    IndexSet summed;
    for (std::size_t index = first_new; index < sum_.sizes.size(); ++index) summed.insert(index);
    if (indices->size() == 2 && summed.size() == 1) {
      if (auto all = product_of_joins(node, *indices, *summed.begin()))
        return finished(id, *indices, result, summed, *std::move(all));
    }
    std::vector<Written> all;
    for (std::size_t k = 0; k < indices->size(); ++k) {
      auto operand = expand(node.inputs[k], (*indices)[k]);
      if (!operand) return std::nullopt;
      if (is_cut_) return all;
      if (k == 0) {
        all = *std::move(operand);
      } else if (is_sum_of_two(node)) {
        for (Written& term : *operand) term.is_negative ^= is_difference(node);
        std::ranges::move(*operand, std::back_inserter(all));
      } else {
        // Squares of sums and the like: differences that cancel are not written out.
        const bool is_of_elements = summed.empty() && !is_product(node) && !is_equation(node);
        if (is_of_elements && all.size() > 1 && operand->size() > 1) return cut(id, result);
        all = multiplied(all, *operand);
      }
      if (all.size() > kMostTerms) break;
    }
    const auto lacks_some = [&](const Written& term) {
      return !std::ranges::includes(indices_of(term), summed);  // it is broadcast along that
    };
    if (std::ranges::any_of(all, lacks_some)) return cut(id, result);
    return finished(id, *indices, result, summed, std::move(all));
  }

  static bool is_convolution(const Node& node) {
    return node.op->has_operand(core::OperandRole::kKernel);
  }

  /// A product of the channels of each place with one matrix, and what is added to each channel.
  std::optional<std::vector<Written>> visit_convolution(NodeId id, const IndexList& result) {
    const Node& node = graph_.node(id);
    const std::int64_t channels = known_sizes(graph_.tensor(node.inputs[0]).type.shape)[1];
    if (channels == 1) return cut(id, result);
    const std::size_t summed = sum_.sizes.size();
    sum_.sizes.push_back(channels);
    std::vector<IndexList> indices{result, IndexList(result.size())};
    indices[0][1] = summed;
    indices[1][0] = result[1];
    indices[1][1] = summed;
    auto all = product_of_joins(node, indices, summed);
    if (!all) {
      const auto image = expand(node.inputs[0], indices[0]);
      const auto kernel = image ? expand(node.inputs[1], indices[1]) : std::nullopt;
      if (!kernel) return std::nullopt;
      if (is_cut_) return image;
      all = multiplied(*image, *kernel);
      if (std::ranges::any_of(
              *all, [&](const Written& term) { return !indices_of(term).contains(summed); }))
        return cut(id, result);
    }
    if (node.inputs.size() > 2 && node.inputs[2].valid()) {
      auto bias = expand(node.inputs[2], {result[1]});
      if (!bias) return std::nullopt;
      std::ranges::move(*bias, std::back_inserter(*all));
    }
    return finished(id, indices, result, {summed}, *std::move(all));
  }

  std::optional<std::vector<Written>> finished(NodeId id, const std::vector<IndexList>& operands,
                                               const IndexList& result, const IndexSet& summed,
                                               std::vector<Written> all) {
    if (all.size() > kMostTerms ||
        std::ranges::any_of(all, [&](const Written& term) { return is_too_long(term); }))
      return cut(id, result);
    costs_[id] = cost_of(graph_.node(id), operands, result, summed);
    return all;
  }

  bool is_too_long(const Written& term) const {
    const auto numbers = static_cast<std::size_t>(
        std::ranges::count_if(term.leaves, [&](const ContractionLeaf& leaf) {
          return transforms::indices_of(leaf.indices).empty() &&
                 graph_.is_constant_expression(leaf.tensor);
        }));
    return term.leaves.size() - numbers > kMostOperands || numbers > kMostNumbers;
  }

  /// Takes the node's result for a tensor like any.
  std::optional<std::vector<Written>> cut(NodeId id, const IndexList& result) {
    if (id == root_) return std::nullopt;
    cuts_.insert(id);
    is_cut_ = true;
    return std::vector<Written>{{false, {{graph_.node(id).outputs[0], result}}}};
  }

  static std::vector<Written> multiplied(const std::vector<Written>& a,
                                         const std::vector<Written>& b) {
    std::vector<Written> all;
    for (const Written& x : a)
      for (const Written& y : b) {
        Written& term = all.emplace_back(x);
        term.is_negative ^= y.is_negative;
        term.leaves.insert(term.leaves.end(), y.leaves.begin(), y.leaves.end());
      }
    return all;
  }

  double cost_of(const Node& node, const std::vector<IndexList>& operands, const IndexList& result,
                 const IndexSet& summed) const {
    if (node.op->movement != core::Movement::kNone || !is_read_or_root(node)) return 0;
    const IndexSet of_result = transforms::indices_of(result);
    IndexSet involved = of_result;
    involved.insert(summed.begin(), summed.end());
    double moved = elements_along(of_result, sum_.sizes);
    // What is added to all that a launch computes takes no time there.
    if (is_sum_of_two(node) && !adds_unit(graph_, node) &&
        std::ranges::any_of(node.inputs,
                            [&](TensorId id) { return graph_.is_constant_expression(id); }))
      return 0;
    if (is_sum_of_two(node)) return kWorkOfElement * moved + kWorkOfStep;
    for (const IndexList& operand : operands)
      moved += elements_along(transforms::indices_of(operand), sum_.sizes);
    return 2 * elements_along(involved, sum_.sizes) + kWorkOfElement * moved +
           (summed.empty() ? kWorkOfStep : kWorkOfLaunch);
  }

  /// Else it is computed for others anyhow.
  bool is_read_or_root(const Node& node) const {
    return graph_.tensor(node.outputs[0]).producer == root_ || is_read_within(node.outputs[0]);
  }

  /// Drops unit matrices, and gives what is summed names of its own. False: a unit
  /// matrix is left, or a diagonal.
  bool add_terms(const std::vector<Written>& all) {
    for (const Written& written : all) {
      SumTerm& term = sum_.sum.terms.emplace_back();
      term.is_negative = written.is_negative;
      std::map<std::size_t, std::size_t> names;
      for (const std::size_t index : sum_.sum.result) names[index] = index;
      std::vector<ContractionLeaf> leaves = written.leaves;
      if (!drop_units(leaves)) return false;
      drop_softmaxes(leaves);
      for (ContractionLeaf& leaf : leaves) {
        for (auto& index : leaf.indices) {
          if (!index) continue;
          const auto [known, is_new] = names.try_emplace(*index, sum_.sizes.size());
          if (is_new) sum_.sizes.push_back(std::int64_t{sum_.sizes[*index]});
          index = known->second;
        }
        const IndexSet indices = transforms::indices_of(leaf.indices);
        const bool is_constant = graph_.is_constant_expression(leaf.tensor);
        term.operands.push_back(
            {.leaf = std::move(leaf), .indices = indices, .is_constant = is_constant});
      }
    }
    return true;
  }

  /// A softmax of which all places are added up is one.
  void drop_softmaxes(std::vector<ContractionLeaf>& leaves) {
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      const ContractionLeaf leaf = leaves[k];
      const NodeId producer = graph_.tensor(leaf.tensor).producer;
      const auto axis = producer.valid() ? softmax_axis(graph_.node(producer)) : std::nullopt;
      if (!axis || !leaf.indices[*axis] || leaves.size() == 1) continue;
      const std::size_t summed = *leaf.indices[*axis];
      IndexSet elsewhere = sum_.sum.result;
      for (std::size_t other = 0; other < leaves.size(); ++other)
        if (other != k) elsewhere.merge(transforms::indices_of(leaves[other].indices));
      const bool is_alone = !elsewhere.contains(summed);
      elsewhere.insert(summed);
      if (!is_alone || !std::ranges::includes(elsewhere, transforms::indices_of(leaf.indices)))
        continue;
      sum_.operands.insert(leaf.tensor);
      leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(k--));
    }
  }

  bool drop_units(std::vector<ContractionLeaf>& leaves) const {
    for (std::size_t k = 0; k < leaves.size();) {
      const core::TensorId tensor = leaves[k].tensor;
      const IndexList& indices = leaves[k].indices;
      if (!is_unit(graph_, tensor) || !indices[0] || !indices[1]) {
        if (is_unit(graph_, tensor)) return false;
        ++k;
        continue;
      }
      const bool is_first_kept = sum_.sum.result.contains(*indices[0]);
      const std::size_t kept = is_first_kept ? *indices[0] : *indices[1],
                        gone = is_first_kept ? *indices[1] : *indices[0];
      if (sum_.sum.result.contains(gone)) return false;
      leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(k));
      for (ContractionLeaf& leaf : leaves) {
        for (auto& index : leaf.indices)
          if (index == gone) index = kept;
        if (std::ranges::count(leaf.indices, std::optional(kept)) > 1) return false;  // a diagonal
      }
    }
    return !leaves.empty();
  }

  void add_nodes() {
    std::set<std::pair<std::size_t, NodeId>> nodes;
    for (const auto& [id, cost] : costs_) {
      sum_.cost_now += cost;
      nodes.emplace(position_[id.index()], id);
      for (const TensorId input : graph_.node(id).inputs)
        if (is_unit(graph_, input)) {
          const NodeId unit = graph_.tensor(input).producer;
          nodes.emplace(position_[unit.index()], unit);
        }
    }
    for (const TensorId id : sum_.operands) {
      const NodeId softmax = graph_.tensor(id).producer;
      nodes.emplace(position_[softmax.index()], softmax);
    }
    for (const auto& [ignored, id] : nodes) sum_.nodes.push_back(id);
  }

  const Graph& graph_;
  const std::vector<std::size_t>& position_;
  NodeId root_;
  std::set<NodeId> region_, cuts_;
  bool is_cut_ = false;
  std::map<NodeId, double> costs_;
  SumOfProducts sum_;
};

}  // namespace

bool is_sum_node(const Graph& graph, const Node& node) {
  return is_term_node(graph, node) ||
         (has_known_sizes(graph, node) && is_convolution_of_points(graph, node));
}

std::optional<std::size_t> softmax_axis(const Node& node) {
  if (node.op->name != "softmax") return std::nullopt;
  return ops::axis_by_role(node);
}

SumReader::SumReader(const Graph& graph) : graph_(graph), position_(graph.node_bound()) {
  std::size_t next = 0;
  for (const NodeId id : graph.order()) position_[id.index()] = next++;
}

std::optional<SumOfProducts> SumReader::read(NodeId root) const {
  auto read = Expansion(graph_, position_, root).read();
  if (!read) return std::nullopt;
  const auto is_any = [&](const auto& is_such) {
    return std::ranges::any_of(read->nodes, [&](NodeId id) { return is_such(graph_.node(id)); });
  };
  const auto is_joined = [](const Node& node) {
    return node.op->movement == core::Movement::kJoin;
  };
  const bool has_products = is_any([](const Node& node) {
    return is_product(node) || is_equation(node) ||
           node.op->has_operand(core::OperandRole::kKernel);
  });
  return has_products && (is_any(is_sum_of_two) || is_any(is_joined)) ? std::move(read)
                                                                      : std::nullopt;
}

IndexSet indices_of(const SumTerm& term) {
  IndexSet all;
  for (const SumOperand& operand : term.operands)
    all.insert(operand.indices.begin(), operand.indices.end());
  return all;
}

SumOperand renamed(const SumOperand& operand, const std::map<std::size_t, std::size_t>& names) {
  const auto named = [&](std::size_t index) {
    const auto known = names.find(index);
    return known == names.end() ? index : known->second;
  };
  const auto all_named = [&](const IndexSet& indices) {
    IndexSet all;
    for (const std::size_t index : indices) all.insert(named(index));
    return all;
  };
  SumOperand now = operand;
  now.indices = all_named(operand.indices);
  for (auto& index : now.leaf.indices)
    if (index) index = named(*index);
  if (now.stacked_along) now.stacked_along = named(*now.stacked_along);
  if (!operand.sum) return now;
  TermSum sum = *operand.sum;
  sum.result = all_named(sum.result);
  for (SumTerm& term : sum.terms)
    for (SumOperand& inner : term.operands) inner = renamed(inner, names);
  now.sum = std::make_shared<const TermSum>(std::move(sum));
  return now;
}

}  // namespace soapstone::transforms
