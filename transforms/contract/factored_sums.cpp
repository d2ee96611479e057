#include "transforms/contract/factored_sums.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transforms/contract/factoring.h"
#include "transforms/contract/rule_head.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of what costs now: less is a gain.
constexpr double kGain = 0.99;

constexpr std::string_view kSumDescription =
    "What the terms of a sum of products share is multiplied once.";

/// Writes a sum; what it writes twice stands once.
class SumWriter {
 public:
  SumWriter(const SumOfProducts& read, const RuleHead& head, SideText& side, Scalars scalars)
      : sizes_(read.sizes), head_(head), side_(side), products_(side, read.sizes),
        scalars_(scalars) {}

  /// None: a term is summed without being multiplied, or all are negative.
  std::optional<IndexedName> write(const TermSum& sum,
                                   std::optional<std::vector<std::size_t>> order) {
    std::vector<const SumTerm*> terms;
    for (const SumTerm& term : sum.terms) terms.push_back(&term);
    std::ranges::stable_sort(terms, std::ranges::greater{}, [&](const SumTerm* term) {
      return std::pair(!term->is_negative, kept(*term, sum.result).size());
    });
    if (!order) order = order_of_first(*terms.front(), sum.result);
    std::optional<std::string> all;
    for (const SumTerm* term : terms) {
      std::vector<std::size_t> wanted = *order;
      const IndexSet own = kept(*term, sum.result);
      std::erase_if(wanted, [&](std::size_t index) { return !own.contains(index); });
      const auto part = product(*term, sum.result, wanted);
      const auto name = part ? products_.broadcast(*part, *order) : std::nullopt;
      if (!name) return std::nullopt;
      if (!all && term->is_negative) return std::nullopt;
      const std::string_view op = term->is_negative ? "sub" : "add";
      all =
          all ? added(fmt::format("{}({}, {})", op, *all, *name), sum, is_constant(*term)) : *name;
    }
    return IndexedName{*all, *order};
  }

  double cost() const { return products_.cost() + cost_of_steps_; }

 private:
  static IndexSet kept(const SumTerm& term, const IndexSet& result) {
    IndexSet both;
    for (const std::size_t index : indices_of(term))
      if (result.contains(index)) both.insert(index);
    return both;
  }

  /// As the product has them by itself, and then what it lacks.
  std::vector<std::size_t> order_of_first(const SumTerm& term, const IndexSet& result) {
    std::vector<std::size_t> order;
    for (const SumOperand& operand : term.operands)
      for (const std::size_t index : order_of_operand(operand))
        if (result.contains(index) && std::ranges::find(order, index) == order.end())
          order.push_back(index);
    for (const std::size_t index : result)
      if (std::ranges::find(order, index) == order.end()) order.push_back(index);
    return order;
  }

  static std::vector<std::size_t> order_of_operand(const SumOperand& operand) {
    if (operand.sum) return {operand.indices.begin(), operand.indices.end()};
    std::vector<std::size_t> order;
    for (const auto& index : operand.leaf.indices)
      if (index) order.push_back(*index);
    return order;
  }

  std::optional<IndexedName> product(const SumTerm& term, const IndexSet& result,
                                     const std::vector<std::size_t>& wanted) {
    std::vector<IndexedName> names, numbers;
    IndexedProduct product{{}, result, true};
    const bool has_others = !std::ranges::all_of(term.operands, is_number);
    for (const SumOperand& operand : term.operands) {
      const bool is_apart = scalars_ == Scalars::kApart && has_others && is_number(operand);
      const auto name = operand.stacked_along ? stacked(operand)
                        : operand.is_unit     ? std::optional(unit(operand))
                        : operand.sum         ? write(*operand.sum, std::nullopt)
                                              : head_.indexed(operand.leaf, sizes_, side_);
      if (!name) return std::nullopt;
      (is_apart ? numbers : names).push_back(*name);
      if (!is_apart) product.operands.push_back({operand.indices, operand.is_constant});
    }
    IndexedName now = names.front();
    if (names.size() > 1) {
      OrderSearch search(product, sizes_);
      now = products_.write(
          search, [&](std::size_t k) { return names[k]; }, &wanted);
    } else if (!turn(now, wanted)) {
      return std::nullopt;
    }
    for (const IndexedName& number : numbers) {
      const std::string call = elementwise_product(now.name, number.name);
      if (!is_constant(term) && !side_.has(call)) cost_of_steps_ += kWorkOfStep;
      now.name = side_.line(call);
    }
    return now;
  }

  IndexedName unit(const SumOperand& operand) {
    const std::size_t row = *operand.leaf.indices[0], column = *operand.leaf.indices[1];
    return {side_.line(fmt::format("eye(; shape=[{0}, {0}])", sizes_[row])), {row, column}};
  }

  /// The terms of a sum one behind the other.
  std::optional<IndexedName> stacked(const SumOperand& stack) {
    const IndexSet& own = stack.sum->result;
    const std::vector<std::size_t> order(own.begin(), own.end());
    const Names sizes = names_of(products_.sizes_of(order));
    Names in_stack = sizes, parts;
    in_stack.insert(in_stack.begin(), "1");
    for (const SumTerm& term : stack.sum->terms) {
      auto part = product(term, own, order);
      if (!part || !turn(*part, order)) return std::nullopt;
      parts.push_back(side_.reshaped(part->name, sizes, in_stack));
    }
    IndexedName all{side_.joined(parts, 0), {*stack.stacked_along}};
    all.indices.insert(all.indices.end(), order.begin(), order.end());
    return all;
  }

  /// Gives the tensor that order. False: it has other indices.
  bool turn(IndexedName& tensor, const std::vector<std::size_t>& wanted) {
    if (tensor.indices.size() != wanted.size()) return false;
    std::vector<std::size_t> order;
    for (const std::size_t index : wanted) {
      const auto at = std::ranges::find(tensor.indices, index);
      if (at == tensor.indices.end()) return false;
      order.push_back(static_cast<std::size_t>(at - tensor.indices.begin()));
    }
    tensor = {side_.transposed(tensor.name, order), wanted};
    return true;
  }

  std::string added(const std::string& call, const TermSum& sum, bool is_free) {
    if (!is_free && !side_.has(call) && sum.cost > 0)
      cost_of_steps_ += kWorkOfStep + kWorkOfElement * elements_along(sum.result, sizes_);
    return side_.line(call);
  }

  const Sizes& sizes_;
  const RuleHead& head_;
  SideText& side_;
  ProductWriter products_;
  Scalars scalars_;
  double cost_of_steps_ = 0;
};

/// A rule for the sum, if it costs less than now. `cost` is what it costs then. `behind`: a node
/// that reads the sum alone, if that is what is computed.
std::optional<std::string> text_of(const Graph& graph, SumOfProducts read, const Node* behind,
                                   Scalars scalars, Constants constants, double& cost) {
  RuleHead head(graph);
  for (const TensorId id : read.operands) head.keep(graph.node(graph.tensor(id).producer));
  std::set<TensorId> computed;
  for (const NodeId id : read.nodes) {
    for (const TensorId input : graph.node(id).inputs)
      if (!computed.contains(input)) head.declare(input);
    computed.insert(graph.node(id).outputs[0]);
  }
  SideText source, target;
  const std::string result = head.written(read.nodes, source);
  std::vector<std::size_t> order;
  for (const auto& index : read.result)
    if (index) order.push_back(*index);
  const TermSum form = factored(read, scalars, constants);
  SumWriter writer(read, head, target, scalars);
  const auto sum = writer.write(form, order);
  if (!sum || writer.cost() > kGain * cost) return std::nullopt;
  cost = writer.cost();
  const Node& last = graph.node(read.nodes.back());
  Sizes sizes;
  for (const std::size_t index : order) sizes.push_back(read.sizes[index]);
  std::string from = result;
  std::string y = target.reshaped(sum->name, names_of(sizes),
                                  names_of(known_sizes(graph.tensor(last.outputs[0]).type.shape)));
  if (behind != nullptr) {
    from = source.line(call_of(graph, *behind, {from}));
    y = target.line(call_of(graph, *behind, {y}));
  }
  return rule_text(fmt::format("{}{}", kFactoredPrefix, last.op->name), head.text(), source, {from},
                   target, {y});
}

/// What a softmax reads, less products that are the same along its axis; what is added as it stands
/// may be a mask. None: it reads no such sum.
std::optional<SumOfProducts> read_before(const Graph& graph, const SumReader& reader,
                                         const Node& softmax) {
  const TensorId operand = softmax.inputs[0];
  const NodeId producer = graph.tensor(operand).producer;
  if (!producer.valid() || graph.consumers(operand).size() != 1 || graph.is_output(operand) ||
      !is_sum_node(graph, graph.node(producer)))
    return std::nullopt;
  auto read = reader.read(producer);
  const auto index = read ? read->result[*softmax_axis(softmax)] : std::nullopt;
  if (!index) return std::nullopt;
  const std::size_t removed = std::erase_if(read->sum.terms, [&](const SumTerm& term) {
    return term.operands.size() > 1 && !indices_of(term).contains(*index);
  });
  return removed > 0 && !read->sum.terms.empty() ? std::move(read) : std::nullopt;
}

}  // namespace

std::vector<RewriteSequence> find_factored_sums(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  const SumReader reader(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (graph.is_constant_expression(id)) continue;
    const bool is_softmax = softmax_axis(node).has_value();
    if (!is_softmax && !is_sum_node(graph, node)) continue;
    const auto read = is_softmax ? read_before(graph, reader, node) : reader.read(id);
    if (!read) continue;
    std::optional<std::string> best;
    double cost = read->cost_now;
    for (const Scalars scalars : {Scalars::kFolded, Scalars::kApart})
      for (const Constants constants : {Constants::kAdded, Constants::kStacked})
        if (auto text =
                text_of(graph, *read, is_softmax ? &node : nullptr, scalars, constants, cost))
          best = std::move(text);
    if (best)
      plans.push_back({{{.results = node.outputs,
                         .texts = {*std::move(best)},
                         .description = kSumDescription,
                         .floats = FloatBehavior::kReassociates}}});
  }
  return plans;
}

}  // namespace soapstone::transforms
