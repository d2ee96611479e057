#include "rules/matching/match_at.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "rules/rule/constraints.h"

namespace soapstone::rules {
namespace {

using core::AttributeValue;
using core::Polynomial;

template <class SomeGraph>
class PlacedMatch {
 public:
  PlacedMatch(const SomeGraph& graph, const Rule& rule)
      : graph_(graph), rule_(rule), source_(rule.source), values_(source_.symbols().size()),
        mapped_(source_.tensor_bound()) {}

  std::optional<Match> find(std::span<const NodeId> nodes, std::span<const TensorId> inputs) {
    if (nodes.size() != source_.order().size() || inputs.size() != source_.inputs().size() ||
        !rule_.parameters.empty())
      return std::nullopt;
    if (!bind_sizes(nodes, inputs) || !meets_guard() || !meets_inputs(inputs)) return std::nullopt;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (!meets_node(source_.order()[k], nodes[k])) return std::nullopt;
    Match match{{inputs.begin(), inputs.end()}, {nodes.begin(), nodes.end()}, {}, {}};
    for (const TensorId id : source_.outputs()) match.outputs.push_back(mapped_[id.index()]);
    for (const auto& value : values_) match.sizes.push_back(*value);
    match.float_type = float_type_.value_or(core::DataType::kFloat32);
    return match;
  }

 private:
  /// Sizes that stand alone, or with a factor, in what is read or computed; and the type that f32
  /// stands for.
  bool bind_sizes(std::span<const NodeId> nodes, std::span<const TensorId> inputs) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!inputs[k].valid() || !graph_.contains(inputs[k]) ||
          !bind_type(inputs[k], source_.inputs()[k]) || !bind_shape(inputs[k], source_.inputs()[k]))
        return false;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (!nodes[k].valid() || !graph_.contains(nodes[k])) return false;
      const std::vector<TensorId>& wanted = source_.node(source_.order()[k]).outputs;
      const std::vector<TensorId>& met = graph_.node(nodes[k]).outputs;
      for (std::size_t r = 0; r < std::min(wanted.size(), met.size()); ++r)
        if (wanted[r].valid() && met[r].valid() && !bind_shape(met[r], wanted[r])) return false;
    }
    for (const ops::DerivedSize& derived : rule_.derived) values_[derived.symbol.id] = 0;
    return std::ranges::all_of(values_, [](const auto& value) { return value.has_value(); });
  }

  bool bind_type(TensorId id, TensorId pattern) {
    const core::DataType met = graph_.tensor(id).type.data_type;
    if (source_.tensor(pattern).type.data_type != core::DataType::kFloat32) return true;
    if (!core::is_floating(met) || float_type_.value_or(met) != met) return false;
    float_type_ = met;
    return true;
  }

  bool bind_shape(TensorId id, TensorId pattern) {
    const core::Shape &wanted = source_.tensor(pattern).type.shape,
                      &met = graph_.tensor(id).type.shape;
    if (wanted.size() != met.size()) return false;
    for (std::size_t d = 0; d < met.size(); ++d) {
      const std::vector<core::Symbol> symbols = wanted[d].symbols();
      if (symbols.size() != 1) continue;
      const std::int64_t factor = wanted[d].coefficient(symbols[0]);
      if (factor == 0 || wanted[d] != factor * Polynomial(symbols[0])) continue;
      if (!met[d].is_constant() || met[d].constant() % factor != 0) return false;
      values_[symbols[0].id] = met[d].constant() / factor;
    }
    return true;
  }

  /// Whether the conditions hold. Derived sizes have their values then.
  bool meets_guard() {
    std::vector<std::int64_t> sizes;
    for (const auto& value : values_) sizes.push_back(*value);
    const bool holds = guard_holds(rule_, sizes);
    values_.assign(sizes.begin(), sizes.end());
    return holds;
  }

  bool meets_inputs(std::span<const TensorId> inputs) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!is_same(source_.inputs()[k], inputs[k])) return false;
      const bool is_constant = k < rule_.constant_inputs.size() && rule_.constant_inputs[k];
      if (is_constant && !graph_.is_constant_expression(inputs[k])) return false;
      mapped_[source_.inputs()[k].index()] = inputs[k];
    }
    return true;
  }

  Polynomial value_of(const Polynomial& size) const {
    return size.substitute(
        [&](core::Symbol s) { return std::optional(Polynomial(*values_[s.id])); });
  }

  bool is_same(TensorId mine, TensorId theirs) const {
    if (!theirs.valid() || !graph_.contains(theirs)) return false;
    const core::TensorType &wanted = source_.tensor(mine).type, &met = graph_.tensor(theirs).type;
    const bool same_type = wanted.data_type == core::DataType::kFloat32 && float_type_
                               ? met.data_type == *float_type_
                               : met.data_type == wanted.data_type;
    return same_type && wanted.shape.size() == met.shape.size() &&
           std::ranges::equal(wanted.shape, met.shape, {},
                              [&](const Polynomial& size) { return value_of(size); });
  }

  bool is_same(const AttributeValue& wanted, const AttributeValue& met) const {
    if (const auto* const size = std::get_if<Polynomial>(&wanted))
      return AttributeValue(value_of(*size)) == met;
    const auto* const sizes = std::get_if<std::vector<Polynomial>>(&wanted);
    if (sizes == nullptr) return wanted == met;
    std::vector<Polynomial> values;
    for (const Polynomial& size : *sizes) values.push_back(value_of(size));
    return AttributeValue(std::move(values)) == met;
  }

  bool meets_node(NodeId mine, NodeId theirs) {
    if (!theirs.valid() || !graph_.contains(theirs)) return false;
    const core::Node &wanted = source_.node(mine), &node = graph_.node(theirs);
    const auto &attributes = wanted.attributes.values(), &its = node.attributes.values();
    return node.op == wanted.op && !node.op->is_opaque() &&
           std::ranges::equal(attributes, its,
                              [&](const auto& a, const auto& b) {
                                return a.first == b.first && is_same(a.second, b.second);
                              }) &&
           meets_operands(wanted, node) && meets_results(wanted, node);
  }

  bool meets_operands(const core::Node& wanted, const core::Node& node) const {
    if (node.inputs.size() != wanted.inputs.size()) return false;
    for (std::size_t j = 0; j < node.inputs.size(); ++j) {
      const TensorId mine = wanted.inputs[j], theirs = node.inputs[j];
      if (mine.valid() != theirs.valid()) return false;
      if (!mine.valid()) continue;
      const core::LiteralPtr& value = source_.tensor(mine).value;
      const bool meets = value ? is_same(mine, theirs) && graph_.tensor(theirs).value &&
                                     *graph_.tensor(theirs).value == *value
                               : mapped_[mine.index()] == theirs;
      if (!meets) return false;
    }
    return true;
  }

  bool meets_results(const core::Node& wanted, const core::Node& node) {
    if (node.outputs.size() != wanted.outputs.size()) return false;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      if (!is_same(wanted.outputs[j], node.outputs[j])) return false;
      mapped_[wanted.outputs[j].index()] = node.outputs[j];
    }
    return true;
  }

  const SomeGraph& graph_;
  const Rule& rule_;
  const Graph& source_;
  std::vector<std::optional<std::int64_t>> values_;  // by symbol
  std::optional<core::DataType> float_type_;
  std::vector<TensorId> mapped_;  // by tensor of the source
};

}  // namespace

std::optional<Match> match_at(const Graph& graph, const Rule& rule, std::span<const NodeId> nodes,
                              std::span<const TensorId> inputs) {
  return PlacedMatch(graph, rule).find(nodes, inputs);
}

std::optional<Match> match_at(const EditedGraph& graph, const Rule& rule,
                              std::span<const NodeId> nodes, std::span<const TensorId> inputs) {
  return PlacedMatch(graph, rule).find(nodes, inputs);
}

std::optional<Match> find_match_at(const Graph& graph, const RuleSet& rules, core::RuleId rule,
                                   std::span<const NodeId> nodes,
                                   std::span<const TensorId> inputs) {
  const auto is_gone = [&](NodeId id) { return !graph.contains(id); };
  if (nodes.empty() || std::ranges::any_of(nodes, is_gone)) return std::nullopt;
  auto found = match_at(graph, rules[rule], nodes, inputs);
  if (found) return found;
  rules.for_each_match_at(graph, nodes.first(1), [&](core::RuleId of, const Match& match) {
    if (of == rule && std::ranges::equal(match.nodes, nodes) &&
        std::ranges::equal(match.inputs, inputs))
      found = match;
    return !found;
  });
  return found;
}

}  // namespace soapstone::rules
