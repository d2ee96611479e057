#include "transforms/contract/factors.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/contract/factor_axis.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// How many operators a factor goes past.
constexpr int kFarthest = 10;

constexpr std::string_view kFactorDescription =
    "A factor of what weights are multiplied with is one of the weights.";

/// A tensor as another one whose dimensions, but for those of size 1, lie elsewhere in it.
struct Alignment {
  TensorId base;
  FactorAxes axes;  ///< Of the tensor, by dimension of the base.
};

/// Dimensions of other sizes than 1.
Sizes long_sizes(const Graph& graph, TensorId id) {
  Sizes sizes = known_sizes(graph.tensor(id).type.shape);
  std::erase(sizes, 1);
  return sizes;
}

Alignment plain_alignment(const Graph& graph, TensorId id) {
  const Sizes shape = known_sizes(graph.tensor(id).type.shape);
  Alignment view{id, {}};
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) view.axes.push_back(shape.size() - 1 - d);
  return view;
}

/// Of what reshapes that add or remove dimensions of size 1, and transposes, have made it of.
Alignment alignment_of(const Graph& graph, TensorId id) {
  Alignment view = plain_alignment(graph, id);
  for (;;) {
    const NodeId producer = graph.tensor(view.base).producer;
    if (!producer.valid()) return view;
    const Node& node = graph.node(producer);
    const bool permutes = node.op->movement == Movement::kPermute;
    const bool reshapes = node.op->movement == Movement::kReshape &&
                          long_sizes(graph, node.inputs[0]) == long_sizes(graph, view.base);
    if (!permutes && !reshapes) return view;
    if (permutes) {
      // By axis of the operand, what was known by axis of the result.
      const Sizes shape = known_sizes(graph.tensor(view.base).type.shape);
      const auto& order = ops::sizes_by_role(node, core::AttributeRole::kPermutation);
      std::map<std::int64_t, std::size_t> by_operand;
      std::size_t next = 0;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] != 1) by_operand[order[d].constant()] = view.axes[next++];
      view.axes.clear();
      for (const auto& [ignored, axis] : by_operand) view.axes.push_back(axis);
    }
    view.base = node.inputs[0];
  }
}

/// The rule for one factor of a product, or for the divisor of a quotient.
class FactorWriter {
 public:
  /// `factor`: the operand, and a view of it, which is what other tensors are compared with.
  FactorWriter(const Graph& graph, const Node& product, std::size_t factor, Alignment view)
      : graph_(graph), product_(product), factor_(factor), view_(std::move(view)),
        sizes_(long_sizes(graph, view_.base)),
        is_constant_(graph.is_constant_expression(product.inputs[factor])),
        number_(ops::number_of(graph, view_.base)),
        divides_(ops::arithmetic_of(*product.op) == ops::Arithmetic::kQuotient) {}

  /// The results of the step in the order in which the source computes them: other parts of a split
  /// on the way, and then the product.
  std::vector<TensorId> results() const {
    std::vector<TensorId> all;
    if (split_ != nullptr) all = split_->outputs;
    std::erase(all, part_);
    all.push_back(product_.outputs[0]);
    return all;
  }

  /// The rule. None: nothing that is there can take the factor.
  std::optional<std::string> text() {
    const TensorId scaled = product_.inputs[1 - factor_];
    if (graph_.is_constant_expression(scaled) || !find(scaled, view_.axes, kFarthest) ||
        (!is_constant_ && cancelled_.empty()))
      return std::nullopt;
    Names operands(2, source_factor(product_.inputs[factor_]));
    const std::string y = written(scaled);
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
  using Way = std::vector<std::size_t>;

  /// Whether the tensor can have the factor; by tensor, the operands that take it.
  bool find(TensorId id, const FactorAxes& axes, int distance) {
    if (!id.valid() || !core::is_floating(graph_.tensor(id).type.data_type)) return false;
    axes_[id] = axes;
    if (graph_.is_constant_expression(id)) return true;
    const NodeId producer = graph_.tensor(id).producer;
    if (distance == 0 || !producer.valid() || graph_.is_output(id) ||
        graph_.consumers(id).size() != 1 || !has_axes(id, axes))
      return false;
    const Node& node = graph_.node(producer);
    if (node.op->movement == Movement::kSplit) return find_whole(node, id, axes, distance);
    if (node.outputs.size() != 1) return false;
    if (const auto rest = rest_without(node, axes)) {
      cancelled_[id] = *rest;
      return true;
    }
    // Constants first, which take it for nothing if it is one; not tables, which others may share.
    std::vector<Way> ways = factor_ways(node);
    if (ways.empty() && axes.empty() && number_.value_or(0) > 0) {
      ways = ways_of_positive_numbers(node);
      says_number_ = says_number_ || !ways.empty();
    }
    std::ranges::stable_partition(ways, [&](const Way& way) {
      const bool is_free =
          graph_.is_constant_expression(node.inputs[way[0]]) && !is_table(node, way[0]);
      return is_free == is_constant_;
    });
    const Node* const split_before = split_;
    for (const Way& way : ways) {
      split_ = split_before;
      const auto cancelled_before = cancelled_;
      const bool takes = std::ranges::all_of(way, [&](std::size_t k) {
        const auto its = factor_axes(graph_, node, k, axes);
        return its && find(node.inputs[k], *its, distance - 1);
      });
      if (takes) {
        taken_[id] = way;
        return true;
      }
      cancelled_ = cancelled_before;
    }
    split_ = split_before;
    return false;
  }

  /// The operand that is left of a product or quotient with the factor where both cancel.
  std::optional<std::size_t> rest_without(const Node& node, const FactorAxes& axes) const {
    if (is_constant_) return std::nullopt;
    const auto arithmetic = ops::arithmetic_of(*node.op);
    const bool is_such =
        arithmetic == (divides_ ? ops::Arithmetic::kProduct : ops::Arithmetic::kQuotient);
    if (!is_such) return std::nullopt;
    for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
      if (k == 0 && !divides_) break;
      const Alignment other = view_.base == product_.inputs[factor_]
                                  ? plain_alignment(graph_, node.inputs[k])
                                  : alignment_of(graph_, node.inputs[k]);
      if (other.base == view_.base && other.axes == axes && has_axes(node.inputs[1 - k], axes))
        return 1 - k;
    }
    return std::nullopt;
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
  bool find_whole(const Node& split, TensorId part, const FactorAxes& axes, int distance) {
    if (!axes.empty() || !is_constant_ || split_ != nullptr) return false;
    const TensorId whole = split.inputs[0];
    split_ = &split;
    part_ = part;
    const std::size_t behind =
        graph_.tensor(whole).type.shape.size() - 1 - ops::axis_by_role(split);
    const bool takes = find(whole, {behind}, distance - 1);
    if (takes) taken_[part] = {0};
    if (!takes) split_ = nullptr;
    return takes;
  }

  bool has_axes(TensorId id, const FactorAxes& axes) const {
    const core::Shape& shape = graph_.tensor(id).type.shape;
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const std::int64_t size = split_ != nullptr ? length() : sizes_[d];
      if (axes[d] >= shape.size() || shape[shape.size() - 1 - axes[d]] != core::Polynomial(size))
        return false;
    }
    return true;
  }
  /// Of the factor of a whole.
  std::int64_t length() const {
    const core::Shape& shape = graph_.tensor(split_->inputs[0]).type.shape;
    return shape[ops::axis_by_role(*split_)].constant();
  }

  /// The factor, or a view of it, as the graph makes it.
  std::string source_factor(TensorId id) {
    if (id == view_.base) return leaf(id);
    const Node& node = graph_.node(graph_.tensor(id).producer);
    return source_.line(call_of(graph_, node, {source_factor(node.inputs[0])}));
  }
  /// What the source computes the tensor with.
  std::string source_of(TensorId id) {
    if (const auto rest = cancelled_.find(id); rest != cancelled_.end()) {
      const Node& node = graph_.node(graph_.tensor(id).producer);
      Names operands(2, source_factor(node.inputs[1 - rest->second]));
      operands[rest->second] = leaf(node.inputs[rest->second]);
      return source_.line(call_of(graph_, node, operands));
    }
    return computed(id, source_, source_parts_, [&](TensorId operand, bool takes) {
      return takes ? source_of(operand) : leaf(operand);
    });
  }
  /// The tensor with the factor.
  std::string written(TensorId id) {
    if (const auto rest = cancelled_.find(id); rest != cancelled_.end())
      return leaf(graph_.node(graph_.tensor(id).producer).inputs[rest->second]);
    if (!taken_.contains(id))
      return target_.line(
          fmt::format("{}({}, {})", product_.op->name, leaf(id), factor_for(axes_.at(id))));
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
      const Way& way = taken->second;
      operands.push_back(node.inputs[k].valid()
                             ? operand(node.inputs[k], std::ranges::find(way, k) != way.end())
                             : "_");
    }
    if (&node != split_) return side.line(call_of(graph_, node, operands));
    parts = side.lines(call_of(graph_, node, operands), node.outputs.size());
    const auto place = std::ranges::find(node.outputs, id) - node.outputs.begin();
    return parts[static_cast<std::size_t>(place)];
  }

  /// The factor as it is broadcast to a tensor with these axes.
  std::string factor_for(const FactorAxes& axes) {
    const std::string base = leaf(view_.base);
    const Sizes shape = known_sizes(graph_.tensor(view_.base).type.shape);
    if (split_ == nullptr || axes.empty()) {
      std::vector<std::size_t> order(axes.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, std::ranges::greater{}, [&](std::size_t d) { return axes[d]; });
      Sizes aligned(axes.empty() ? 0 : axes[order[0]] + 1, 1), turned;
      for (const std::size_t d : order) {
        turned.push_back(sizes_[d]);
        aligned[aligned.size() - 1 - axes[d]] = sizes_[d];
      }
      if (std::ranges::is_sorted(order))
        return target_.reshaped(base, names_of(shape), names_of(aligned));
      const std::string flat = target_.reshaped(base, names_of(shape), names_of(sizes_));
      return target_.reshaped(target_.transposed(flat, order), names_of(turned), names_of(aligned));
    }
    Names numbers;
    const std::string one = target_.reshaped(base, names_of(shape), {"1"});
    for (const TensorId part : split_->outputs) {
      const std::int64_t size =
          graph_.tensor(part).type.shape[ops::axis_by_role(*split_)].constant();
      numbers.push_back(part == part_
                            ? target_.expanded(one, {std::to_string(size)})
                            : target_.line(fmt::format("full(; shape=[{}], value=1.0)", size)));
    }
    const std::string all = target_.joined(numbers, 0);
    Sizes aligned(axes[0] + 1, 1);
    aligned[0] = length();
    return target_.reshaped(all, names_of({length()}), names_of(aligned));
  }

  std::string leaf(TensorId id) {
    const auto [known, is_new] = leaves_.try_emplace(id, fmt::format("x{}", leaves_.size()));
    if (is_new) {
      const core::TensorType& type = graph_.tensor(id).type;
      head_ +=
          fmt::format("  {}: {}", known->second, declared(type, names_of(known_sizes(type.shape))));
      if (id == view_.base && says_number_)
        head_ += fmt::format(" = {{{}}}", static_cast<float>(*number_));
      head_ += "\n";
    }
    return known->second;
  }

  const Graph& graph_;
  const Node& product_;
  std::size_t factor_;
  Alignment view_;
  Sizes sizes_;  ///< Of the factor, without those of size 1.
  bool is_constant_;
  std::optional<double> number_;  ///< What it is; none: several, or computed.
  bool says_number_ = false;      ///< The rule holds for a positive one.
  bool divides_;
  std::map<TensorId, Way> taken_;
  std::map<TensorId, FactorAxes> axes_;
  std::map<TensorId, std::size_t> cancelled_;  ///< By tensor, the operand that is left.
  const Node* split_ = nullptr;  ///< In front of which the factor has an axis; null: nowhere.
  TensorId part_ = TensorId::none();
  Names source_parts_, target_parts_;
  std::map<TensorId, std::string> leaves_;
  std::string head_;
  SideText source_, target_;
};

/// Operands of a product or quotient that may be factors of the other one: they are smaller.
std::vector<std::size_t> factors_of(const Graph& graph, const Node& node) {
  const auto arithmetic = ops::arithmetic_of(*node.op);
  const bool multiplies = arithmetic == ops::Arithmetic::kProduct;
  if (!multiplies && arithmetic != ops::Arithmetic::kQuotient) return {};
  const auto elements = [&](TensorId id) {
    const auto shape = core::concrete(graph.tensor(id).type.shape);
    return shape ? core::checked_element_count(*shape) : std::nullopt;
  };
  const core::TensorType& result = graph.tensor(node.outputs[0]).type;
  const auto all = elements(node.outputs[0]);
  std::vector<std::size_t> factors;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    if (k == 0 && !multiplies) continue;
    const auto own = elements(node.inputs[k]);
    const bool is_whole = graph.tensor(node.inputs[1 - k]).type.shape == result.shape;
    if (all && own && is_whole && (*own == 1 || *own < *all)) factors.push_back(k);
  }
  return factors;
}

}  // namespace

std::vector<RewriteSequence> find_factors(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (graph.is_constant_expression(id)) continue;
    for (const std::size_t factor : factors_of(graph, node)) {
      const TensorId operand = node.inputs[factor];
      std::vector<Alignment> views{plain_alignment(graph, operand)};
      if (Alignment base = alignment_of(graph, operand); base.base != operand)
        views.push_back(std::move(base));
      for (Alignment& view : views) {
        FactorWriter writer(graph, node, factor, std::move(view));
        auto text = writer.text();
        if (!text) continue;
        plans.push_back({{RewriteStep{.results = writer.results(),
                                      .texts = {*std::move(text)},
                                      .description = kFactorDescription,
                                      .floats = FloatBehavior::kReassociates}}});
        break;
      }
    }
  }
  return plans;
}

}  // namespace soapstone::transforms
