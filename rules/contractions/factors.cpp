#include "rules/contractions/factors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "rules/contractions/contraction_tree.h"
#include "rules/moves/contraction_labels.h"
#include "rules/moves/move_text.h"

namespace soapstone::rules {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::OperandRole;
using core::TensorId;

/// How many operators a factor goes past.
constexpr int kFarthest = 10;

constexpr std::string_view kFactorDescription =
    "A factor of what weights are multiplied with is one of the weights.";

/// Operands of which a factor has to be taken, for each way in which a node may do so.
using Ways = std::vector<std::vector<std::size_t>>;

bool is_any_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, node.op->name) != names.end();
}

/// None: no operand has the factor of the result.
Ways ways_of(const Node& node) {
  switch (node.op->movement) {
  case Movement::kReshape:
  case Movement::kPermute:
    return {{0}};
  default:
    break;
  }
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) all.push_back(k);
  if (is_any_of(node, {"add", "sub", "concat"})) return {all};
  if (is_any_of(node, {"mul"}) || is_product(node) || is_equation(node)) {
    Ways ways;
    for (const std::size_t k : all) ways.push_back({k});
    return ways;
  }
  if (is_any_of(node, {"div", "reduce_sum", "reduce_mean", "expand", "slice"})) return {{0}};
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (is_any_of(node, {"conv"})) {
    if (has_bias) return {{1, 2}, {0, 2}};
    return {{1}, {0}};
  }
  if (is_any_of(node, {"layer_norm"})) {
    if (has_bias) return {{1, 2}};
    return {{1}};
  }
  if (is_any_of(node, {"rms_norm"})) return {{1}};
  return {};
}

class FactorWriter {
 public:
  FactorWriter(const Graph& graph, const Node& product, std::size_t factor)
      : graph_(graph), product_(product), factor_(factor) {}

  /// The rule. None: no constants can take the factor.
  std::optional<std::string> text() {
    const TensorId scaled = product_.inputs[1 - factor_], number = product_.inputs[factor_];
    if (graph_.is_constant_expression(scaled) || !find(scaled, kFarthest)) return std::nullopt;
    const std::string c = leaf(number);
    const std::string y = written(scaled);
    Names operands{c, c};
    operands[1 - factor_] = source_of(scaled);
    const std::string from = source_.line(call_of(graph_, product_, operands));
    const Node& last = graph_.node(graph_.tensor(scaled).producer);
    return rule_text(fmt::format("{}{}", kFactorPrefix, last.op->name), head_, source_, {from},
                     target_, {y});
  }

 private:
  /// Whether the tensor can have the factor; by tensor, the operands that take it.
  bool find(TensorId id, int distance) {
    if (!id.valid() || !core::is_floating(graph_.tensor(id).type.data_type)) return false;
    if (graph_.is_constant_expression(id)) return true;
    const NodeId producer = graph_.tensor(id).producer;
    if (distance == 0 || !producer.valid() || graph_.is_output(id) ||
        graph_.consumers(id).size() != 1)
      return false;
    const Node& node = graph_.node(producer);
    if (node.outputs.size() != 1) return false;
    // Constants first, which take it for nothing.
    Ways ways = ways_of(node);
    std::ranges::stable_partition(ways, [&](const std::vector<std::size_t>& way) {
      return graph_.is_constant_expression(node.inputs[way[0]]);
    });
    for (const std::vector<std::size_t>& way : ways) {
      const bool takes = std::ranges::all_of(
          way, [&](std::size_t k) { return find(node.inputs[k], distance - 1); });
      if (!takes) continue;
      taken_[id] = way;
      return true;
    }
    return false;
  }

  /// What the source computes the tensor with.
  std::string source_of(TensorId id) {
    const auto way = taken_.find(id);
    if (way == taken_.end()) return leaf(id);
    const Node& node = graph_.node(graph_.tensor(id).producer);
    Names operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      operands.push_back(!node.inputs[k].valid() ? "_"
                         : std::ranges::find(way->second, k) != way->second.end()
                             ? source_of(node.inputs[k])
                             : leaf(node.inputs[k]));
    return source_.line(call_of(graph_, node, operands));
  }

  /// The tensor with the factor.
  std::string written(TensorId id) {
    const auto way = taken_.find(id);
    if (way == taken_.end()) {
      const TensorId number = product_.inputs[factor_];
      const Sizes shape = known_sizes(graph_.tensor(number).type.shape);
      const std::string c = target_.reshaped(leaf(number), names_of(shape), {});
      return target_.line(fmt::format("mul({}, {})", leaf(id), c));
    }
    const Node& node = graph_.node(graph_.tensor(id).producer);
    Names operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      operands.push_back(!node.inputs[k].valid() ? "_"
                         : std::ranges::find(way->second, k) != way->second.end()
                             ? written(node.inputs[k])
                             : leaf(node.inputs[k]));
    return target_.line(call_of(graph_, node, operands));
  }

  std::string leaf(TensorId id) {
    const auto [known, is_new] = leaves_.try_emplace(id, fmt::format("x{}", leaves_.size()));
    if (is_new) {
      const core::TensorType& type = graph_.tensor(id).type;
      head_ += fmt::format("  {}: {}\n", known->second,
                           declared(type, names_of(known_sizes(type.shape))));
    }
    return known->second;
  }

  const Graph& graph_;
  const Node& product_;
  std::size_t factor_;
  std::map<TensorId, std::vector<std::size_t>> taken_;
  std::map<TensorId, std::string> leaves_;
  std::string head_;
  SideText source_, target_;
};

}  // namespace

std::vector<RewritePlan> find_factors(const Graph& graph) {
  std::vector<RewritePlan> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto factor = number_operand(graph, node);
    if (!factor || graph.is_constant_expression(id) ||
        !graph.is_constant_expression(node.inputs[*factor]))
      continue;
    auto text = FactorWriter(graph, node, *factor).text();
    if (!text) continue;
    plans.push_back({{PlanStep{.results = node.outputs,
                               .texts = {*std::move(text)},
                               .description = kFactorDescription,
                               .floats = FloatBehavior::kReassociates}}});
  }
  return plans;
}

}  // namespace soapstone::rules
