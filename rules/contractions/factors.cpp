#include "rules/contractions/factors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "rules/contractions/contraction_tree.h"
#include "rules/contractions/factor_axis.h"
#include "rules/views/contraction_labels.h"
#include "rules/views/side_text.h"

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
  std::vector<std::size_t> all;
  Ways each;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    all.push_back(k);
    each.push_back({k});
  }
  switch (node.op->movement) {
  case Movement::kReshape:
  case Movement::kPermute:
  case Movement::kRepeat:
  case Movement::kCut:
    return {{0}};
  case Movement::kJoin:
    return {all};
  case Movement::kChoose:
    return {{1, 2}};
  default:
    break;
  }
  switch (ops::arithmetic_of(*node.op)) {
  case ops::Arithmetic::kSum:
  case ops::Arithmetic::kDifference:
    return {all};
  case ops::Arithmetic::kProduct:
    return each;
  case ops::Arithmetic::kQuotient:
    return {{0}};
  default:
    break;
  }
  if (is_product(node) || is_equation(node)) return each;
  if (is_any_of(node, {"reduce_sum", "reduce_mean"})) return {{0}};
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

  /// The results of the step in the order in which the source computes them: other parts of a split
  /// on the way, and then the product.
  std::vector<TensorId> results() const {
    std::vector<TensorId> all;
    if (split_ != nullptr) all = split_->outputs;
    std::erase(all, part_);
    all.push_back(product_.outputs[0]);
    return all;
  }

  /// The rule. None: no constants can take the factor.
  std::optional<std::string> text() {
    const TensorId scaled = product_.inputs[1 - factor_], number = product_.inputs[factor_];
    if (graph_.is_constant_expression(scaled) || !find(scaled, {}, kFarthest)) return std::nullopt;
    const std::string c = leaf(number);
    const std::string y = written(scaled);
    Names operands{c, c};
    operands[1 - factor_] = source_of(scaled);
    Names from, to;
    for (std::size_t k = 0; split_ != nullptr && k < split_->outputs.size(); ++k) {
      if (split_->outputs[k] == part_) continue;
      from.push_back(source_parts_[k]);
      to.push_back(target_parts_[k]);
    }
    from.push_back(source_.line(call_of(graph_, product_, operands)));
    to.push_back(y);
    const Node& last = graph_.node(graph_.tensor(scaled).producer);
    return rule_text(fmt::format("{}{}", kFactorPrefix, last.op->name), head_, source_, from,
                     target_, to);
  }

 private:
  struct Taken {
    std::vector<std::size_t> way;
    FactorAxis axis;  ///< Of the tensor.
  };

  /// Whether the tensor can have the factor; by tensor, the operands that take it.
  bool find(TensorId id, FactorAxis axis, int distance) {
    if (!id.valid() || !core::is_floating(graph_.tensor(id).type.data_type)) return false;
    axes_[id] = axis;
    if (graph_.is_constant_expression(id)) return true;
    const NodeId producer = graph_.tensor(id).producer;
    if (distance == 0 || !producer.valid() || graph_.is_output(id) ||
        graph_.consumers(id).size() != 1 || (axis && !has_axis(id, *axis)))
      return false;
    const Node& node = graph_.node(producer);
    if (node.op->movement == Movement::kSplit) return find_whole(node, id, axis, distance);
    if (node.outputs.size() != 1) return false;
    // Constants first, which take it for nothing; not tables, which others may share.
    Ways ways = ways_of(node);
    std::ranges::stable_partition(ways, [&](const std::vector<std::size_t>& way) {
      return graph_.is_constant_expression(node.inputs[way[0]]) && !is_table(node, way[0]);
    });
    const Node* const split_before = split_;
    for (const std::vector<std::size_t>& way : ways) {
      split_ = split_before;
      const bool takes = std::ranges::all_of(way, [&](std::size_t k) {
        if (!axis) return find(node.inputs[k], {}, distance - 1);
        const FactorAxis its = factor_axis(graph_, node, k, *axis);
        return its && find(node.inputs[k], its, distance - 1);
      });
      if (!takes) continue;
      taken_[id] = {way, axis};
      return true;
    }
    split_ = split_before;
    return false;
  }

  /// Whether the operand is multiplied element by element, as sines and cosines of positions are.
  bool is_table(const Node& node, std::size_t operand) const {
    const auto labels = is_equation(node) ? contraction_labels(graph_, node) : Names();
    if (labels.size() != 3 || operand > 1) return false;
    return std::ranges::all_of(labels[operand], [&](char label) {
      return labels[1 - operand].find(label) != std::string::npos;
    });
  }

  /// A factor of one part is one of the whole that is 1 for the other parts.
  bool find_whole(const Node& split, TensorId part, FactorAxis axis, int distance) {
    if (axis || split_ != nullptr) return false;
    const TensorId whole = split.inputs[0];
    split_ = &split;
    part_ = part;
    const std::size_t behind =
        graph_.tensor(whole).type.shape.size() - 1 - ops::axis_by_role(split);
    const bool takes = find(whole, behind, distance - 1);
    if (takes) taken_[part] = {{0}, {}};
    if (!takes) split_ = nullptr;
    return takes;
  }

  bool has_axis(TensorId id, std::size_t behind) const {
    const core::Shape& shape = graph_.tensor(id).type.shape;
    return behind < shape.size() && shape[shape.size() - 1 - behind] == core::Polynomial(length());
  }
  /// Of the factor of a whole.
  std::int64_t length() const {
    const core::Shape& shape = graph_.tensor(split_->inputs[0]).type.shape;
    return shape[ops::axis_by_role(*split_)].constant();
  }

  /// What the source computes the tensor with.
  std::string source_of(TensorId id) {
    return computed(id, source_, source_parts_, [&](TensorId operand, bool takes) {
      return takes ? source_of(operand) : leaf(operand);
    });
  }
  /// The tensor with the factor.
  std::string written(TensorId id) {
    if (!taken_.contains(id))
      return target_.line(fmt::format("mul({}, {})", leaf(id), factor_for(axes_.at(id))));
    return computed(id, target_, target_parts_, [&](TensorId operand, bool takes) {
      return takes ? written(operand) : leaf(operand);
    });
  }

  template <class Operand>
  std::string computed(TensorId id, SideText& side, Names& parts, const Operand& operand) {
    const auto taken = taken_.find(id);
    if (taken == taken_.end()) return leaf(id);
    const Node& node = graph_.node(graph_.tensor(id).producer);
    Names operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto& way = taken->second.way;
      operands.push_back(node.inputs[k].valid()
                             ? operand(node.inputs[k], std::ranges::find(way, k) != way.end())
                             : "_");
    }
    if (&node != split_) return side.line(call_of(graph_, node, operands));
    parts = side.lines(call_of(graph_, node, operands), node.outputs.size());
    const auto place = std::ranges::find(node.outputs, id) - node.outputs.begin();
    return parts[static_cast<std::size_t>(place)];
  }

  /// The factor of a constant.
  std::string factor_for(FactorAxis axis) {
    const TensorId number = product_.inputs[factor_];
    const Sizes shape = known_sizes(graph_.tensor(number).type.shape);
    if (!axis) return target_.reshaped(leaf(number), names_of(shape), {});
    Names numbers;
    const std::string one = target_.reshaped(leaf(number), names_of(shape), {"1"});
    for (const TensorId part : split_->outputs) {
      const std::int64_t size =
          graph_.tensor(part).type.shape[ops::axis_by_role(*split_)].constant();
      numbers.push_back(target_.line(part == part_
                                         ? fmt::format("expand({}; shape=[{}])", one, size)
                                         : fmt::format("full(; shape=[{}], value=1.0)", size)));
    }
    const std::string all =
        target_.line(fmt::format("concat({}; axis=0)", fmt::join(numbers, ", ")));
    Sizes aligned(*axis + 1, 1);
    aligned[0] = length();
    return target_.reshaped(all, names_of({length()}), names_of(aligned));
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
  std::map<TensorId, Taken> taken_;
  std::map<TensorId, FactorAxis> axes_;
  const Node* split_ = nullptr;  ///< In front of which the factor has an axis; null: nowhere.
  TensorId part_ = TensorId::none();
  Names source_parts_, target_parts_;
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
    FactorWriter writer(graph, node, *factor);
    auto text = writer.text();
    if (!text) continue;
    plans.push_back({{PlanStep{.results = writer.results(),
                               .texts = {*std::move(text)},
                               .description = kFactorDescription,
                               .floats = FloatBehavior::kReassociates}}});
  }
  return plans;
}

}  // namespace soapstone::rules
