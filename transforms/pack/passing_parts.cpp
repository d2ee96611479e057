#include "transforms/pack/passing_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "transforms/affine/linearity.h"
#include "transforms/base/source_text.h"
#include "transforms/pack/blocks.h"
#include "transforms/pack/wide_operator.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::OperandRole;
using core::TensorId;

constexpr std::size_t kMostNodesOfPart = 24, kMostOperandsFilled = 3;
/// Of fillings of tensors, for one join.
constexpr int kMostFillings = 200;

constexpr std::string_view kPassingDescription =
    "Parts that pass take the way of the others, with neutral elements.";

/// What a tensor of the computed part has at the places of the parts that pass.
struct Fill {
  enum class Kind : std::uint8_t {
    kParts,     ///< The parts themselves.
    kNumber,    ///< A number.
    kAnything,  ///< Whatever is at hand.
    kRepeated,  ///< What it has everywhere: it does not have the axis.
  };
  Kind kind = Kind::kAnything;
  double number = 0;
};

/// What an operator makes of fills of its operands, tried at a few numbers.
class FillTrial {
 public:
  FillTrial(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  bool gives(const std::vector<Fill>& operands, const Fill& result) const {
    if (result.kind == Fill::Kind::kAnything) return true;
    core::GraphBuilder builder;
    std::vector<TensorId> inputs;
    for (const Fill& operand : operands) inputs.push_back(add(builder, operand));
    auto type = graph_.tensor(node_.outputs[0]).type;
    type.shape = {core::Polynomial(std::ssize(kPassed))};
    const auto made = builder.add_node(*node_.op, node_.attributes, std::move(inputs), {type});
    builder.set_outputs(made);
    const auto alone = std::move(builder).finish();
    if (!alone) return false;
    const auto values = ops::evaluate_graph<double>(*alone, {});
    if (!values) return false;
    for (std::size_t i = 0; i < std::size(kPassed); ++i) {
      const double wanted = result.kind == Fill::Kind::kParts ? kPassed[i] : result.number;
      if ((*values)[0][i] != wanted) return false;
    }
    return true;
  }

 private:
  static constexpr float kPassed[] = {0.5F, -1.75F, 2.25F, 0.F},
                         kOther[] = {-3.F, 0.75F, 1.5F, 2.F};

  static TensorId add(core::GraphBuilder& builder, const Fill& fill) {
    const auto number = static_cast<float>(fill.number);
    const float numbers[] = {number, number, number, number};
    std::span<const float> values = kOther;
    if (fill.kind == Fill::Kind::kParts) values = kPassed;
    if (fill.kind == Fill::Kind::kNumber) values = numbers;
    return builder.add_constant(
        std::make_shared<const core::Literal>(core::Literal::floats({std::ssize(values)}, values)));
  }

  const Graph& graph_;
  const Node& node_;
};

class PassingJoin {
 public:
  PassingJoin(const Graph& graph, const Node& join, bool any_sizes)
      : graph_(graph), join_(join), sizes_(graph, any_sizes),
        axis_(ops::axis_by_role(join)), operands_{{join.inputs.begin(), join.inputs.end()}, axis_} {
  }

  std::optional<std::string> text() {
    if (!find_split()) return std::nullopt;
    const auto whole = filled(operands_.tensors[computed_], {Fill::Kind::kParts});
    if (!whole || rule_.source.empty()) return std::nullopt;
    const std::string result = name(join_.outputs[0]);
    rule_.target.push_back(fmt::format("    {} = {}\n", result, *whole));
    return written();
  }

 private:
  /// A tensor, and what it is filled with.
  using Wanted = std::pair<TensorId, std::pair<Fill::Kind, double>>;
  /// What was written so far; taken back where a way leads nowhere.
  struct Written {
    std::set<NodeId> source;             ///< Without split and join.
    Texts target;                        ///< Lines.
    std::map<Wanted, std::string> made;  ///< Names of what the lines compute.
  };

  /// The split whose parts pass, and the operand that is computed.
  bool find_split() {
    std::size_t passing = 0;
    for (std::size_t k = 0; k < operands_.tensors.size(); ++k) {
      const NodeId its = graph_.tensor(operands_.tensors[k]).producer;
      const Node* const node = its.valid() ? &graph_.node(its) : nullptr;
      const bool passes = node != nullptr && node->op->movement == Movement::kSplit &&
                          node->outputs.size() == operands_.tensors.size() &&
                          node->outputs[k] == operands_.tensors[k] &&
                          ops::axis_by_role(*node) == axis_ &&
                          (split_ == nullptr || split_ == node);
      if (!passes) {
        computed_ = k;
        continue;
      }
      split_ = node;
      ++passing;
    }
    return split_ != nullptr && passing + 1 == operands_.tensors.size() && have_known_sizes();
  }
  bool have_known_sizes() const {
    return std::ranges::all_of(operands_.tensors, [&](TensorId id) { return is_known(id); });
  }
  bool is_known(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.shape_known && core::concrete(type.shape);
  }
  const core::Shape& shape(TensorId id) const { return graph_.tensor(id).type.shape; }
  std::size_t rank() const { return shape(join_.outputs[0]).size(); }

  /// Where a tensor that is broadcast against the parts has their axis. None: nowhere, or one place
  /// of it for all.
  std::optional<std::size_t> axis_of(TensorId id) const {
    const core::Shape& its = shape(id);
    if (its.size() + axis_ < rank()) return std::nullopt;
    const std::size_t axis = its.size() + axis_ - rank();
    const core::Polynomial& width = shape(operands_.tensors[computed_])[axis_];
    return its[axis] == width ? std::optional(axis) : std::nullopt;
  }

  static std::string name(TensorId id) { return SourceText::name(id); }
  std::string fresh() { return fmt::format("n{}", ++fresh_); }
  std::string add_line(const std::string& call) {
    const std::string result = fresh();
    rule_.target.push_back(fmt::format("    {} = {}\n", result, call));
    return result;
  }

  /// The name of what the tensor is with the other parts filled, lines for which are written. None:
  /// it has no such form.
  std::optional<std::string> filled(TensorId id, const Fill& fill) {
    if (!is_known(id)) return std::nullopt;
    if (fill.kind == Fill::Kind::kRepeated) return name(id);
    const Wanted wanted{id, {fill.kind, fill.number}};
    if (const auto known = rule_.made.find(wanted); known != rule_.made.end()) return known->second;
    if (failed_.contains(wanted) || ++tries_ > kMostFillings) return std::nullopt;
    const Written before = rule_;
    auto made = filled_anew(id, fill);
    if (made) {
      rule_.made[wanted] = *made;
    } else {
      rule_ = before;
      failed_.insert(wanted);
    }
    return made;
  }

  std::optional<std::string> filled_anew(TensorId id, const Fill& fill) {
    const bool passes = fill.kind == Fill::Kind::kParts;
    if (id == split_->outputs[computed_])
      return fill.kind == Fill::Kind::kNumber ? std::nullopt : std::optional(whole());
    if (graph_.is_constant_expression(id))
      return passes ? std::nullopt : filled_constant(id, fill.number);
    const NodeId its = graph_.tensor(id).producer;
    if (!its.valid() || !axis_of(id) || rule_.source.size() >= kMostNodesOfPart)
      return std::nullopt;
    const Node& node = graph_.node(its);
    if (node.op->is_opaque() || node.outputs.size() != 1) return std::nullopt;
    rule_.source.insert(its);
    const ops::OpDefinition* const op = ops::definition_of(node);
    if (op != nullptr && op->op_class == ops::OpClass::kElementwise)
      return filled_elementwise(node, fill);
    if (passes) return std::nullopt;
    if (node.op->movement == Movement::kJoin) return filled_join(node, fill);
    return filled_product(node, fill.number);
  }

  std::string whole() const { return name(split_->inputs[0]); }

  /// Pads of the places along an axis.
  std::string padded(const std::string& what, std::size_t rank, std::size_t axis, double number) {
    Texts before, after, pads(2 * rank, "0");
    for (std::size_t k = 0; k < operands_.tensors.size(); ++k)
      if (k != computed_)
        (k < computed_ ? before : after).push_back(sizes_.size(operands_.tensors[k], axis_));
    pads[axis] = SizeTexts::sum(before);
    pads[rank + axis] = SizeTexts::sum(after);
    const std::string value = number == 0 ? "" : fmt::format(", value={}", number);
    return add_line(fmt::format("pad({}; pads=[{}]{})", what, list_of(pads), value));
  }

  std::optional<std::string> filled_constant(TensorId id, double number) {
    if (const auto axis = axis_of(id)) return padded(name(id), shape(id).size(), *axis, number);
    if (!shape(id).empty() && shape(id).size() + axis_ >= rank() &&
        shape(id)[shape(id).size() + axis_ - rank()] != core::Polynomial(1))
      return std::nullopt;
    // One number for all places: one for each.
    const std::size_t own = std::max(shape(id).size(), rank() - axis_);
    Texts wide(own, "1");
    for (std::size_t d = 0; d < shape(id).size(); ++d)
      wide[own - shape(id).size() + d] = sizes_.size(id, d);
    const std::size_t axis = own + axis_ - rank();
    wide[axis] = sizes_.size(operands_.tensors[computed_], axis_);
    return padded(add_line(fmt::format("expand({}; shape=[{}])", name(id), list_of(wide))), own,
                  axis, number);
  }

  std::optional<std::string> filled_elementwise(const Node& node, const Fill& fill) {
    if (node.inputs.size() > kMostOperandsFilled) return std::nullopt;
    std::vector<Fill> chosen;
    return with_operands(node, fill, chosen);
  }

  /// The first fills of operands that give that of the result and that can be had.
  std::optional<std::string> with_operands(const Node& node, const Fill& fill,
                                           std::vector<Fill>& chosen) {
    using enum Fill::Kind;
    if (chosen.size() == node.inputs.size()) {
      if (!FillTrial(graph_, node).gives(chosen, fill)) return std::nullopt;
      return of_operands(node, chosen);
    }
    const TensorId operand = node.inputs[chosen.size()];
    if (!operand.valid()) return std::nullopt;
    std::vector<Fill> ways;
    if (!axis_of(operand)) ways.push_back({kRepeated});
    if (fill.kind == kParts) ways.push_back({kParts});
    if (fill.kind != kAnything) ways.insert(ways.end(), {{kNumber, 0}, {kNumber, 1}});
    ways.push_back({kAnything});
    for (const Fill& way : ways) {
      chosen.push_back(way);
      auto made = with_operands(node, fill, chosen);
      chosen.pop_back();
      if (made) return made;
    }
    return std::nullopt;
  }

  std::optional<std::string> of_operands(const Node& node, const std::vector<Fill>& fills) {
    const Written before = rule_;
    Texts operands;
    for (std::size_t k = 0; k < fills.size(); ++k) {
      const auto operand = filled(node.inputs[k], fills[k]);
      if (!operand) {
        rule_ = before;
        return std::nullopt;
      }
      operands.push_back(*operand);
    }
    return add_line(call_of(graph_, node, operands));
  }

  /// Parts of zeros between those that are joined.
  std::optional<std::string> filled_join(const Node& node, const Fill& fill) {
    const TensorId result = node.outputs[0];
    if (ops::axis_by_role(node) != axis_of(result)) return std::nullopt;
    const bool takes_parts =
        fill.kind == Fill::Kind::kAnything && shape(result) == shape(operands_.tensors[computed_]);
    Texts parts, passing;
    if (takes_parts) {
      for (std::size_t k = 0; k < operands_.tensors.size(); ++k) passing.push_back(fresh());
      rule_.target.push_back(fmt::format("    {} = split({}; axis={}, sizes=[{}])\n",
                                         list_of(passing), whole(), axis_,
                                         list_of(sizes_.along(operands_.tensors, axis_))));
    }
    for (std::size_t k = 0; k < operands_.tensors.size(); ++k) {
      if (k == computed_) {
        for (const TensorId id : node.inputs) parts.push_back(name(id));
      } else if (takes_parts) {
        parts.push_back(passing[k]);
      } else {
        Texts sizes = sizes_.shape(result);
        sizes[*axis_of(result)] = sizes_.size(operands_.tensors[k], axis_);
        parts.push_back(
            add_line(fmt::format("full(; shape=[{}], value={})", list_of(sizes), fill.number)));
      }
    }
    return add_line(fmt::format("concat({}; axis={})", list_of(parts), *axis_of(result)));
  }

  /// Weights of zeros, and offsets of the number.
  std::optional<std::string> filled_product(const Node& node, double number) {
    const core::AttributeSchema* const groups = node.op->find_role(core::AttributeRole::kGroup);
    if (groups != nullptr && node.attributes.get_int(groups->name) != 1) return std::nullopt;
    std::optional<std::size_t> weights, offsets;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) return std::nullopt;
      const OperandRole role = node.op->operand_role(k);
      if (role == OperandRole::kRightMatrix || role == OperandRole::kKernel) weights = k;
      if (role == OperandRole::kChannels) offsets = k;
    }
    if (!weights || (number != 0 && !offsets)) return std::nullopt;
    const auto axis = axis_of_weights(node, *weights, offsets);
    if (!axis) return std::nullopt;
    Texts operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      std::string operand = name(node.inputs[k]);
      if (k == weights) operand = padded(operand, shape(node.inputs[k]).size(), *axis, 0);
      if (k == offsets) operand = padded(operand, shape(node.inputs[k]).size(), 0, number);
      operands.push_back(std::move(operand));
    }
    return add_line(call_of(graph_, node, operands));
  }

  /// The axis of constant weights along which each place makes one place of the result's axis.
  std::optional<std::size_t> axis_of_weights(const Node& node, std::size_t weights,
                                             std::optional<std::size_t> offsets) const {
    const TensorId id = node.inputs[weights];
    if (!graph_.is_constant_expression(id) || !is_known(id)) return std::nullopt;
    if (offsets && !graph_.is_constant_expression(node.inputs[*offsets])) return std::nullopt;
    for (std::size_t d = 0; d < shape(id).size(); ++d) {
      std::vector<std::optional<std::size_t>> places(node.inputs.size());
      places[weights] = d;
      if (offsets) places[*offsets] = 0;
      const auto kept = kept_axis(graph_, node, places);
      if (kept && kept->size() == 1 && kept->front() == axis_of(node.outputs[0])) return d;
    }
    return std::nullopt;
  }

  std::string written() const {
    SourceText source(graph_, sizes_);
    for (const NodeId id : rule_.source) source.add(id);
    source.add(graph_.tensor(split_->outputs[0]).producer);
    source.add(graph_.tensor(join_.outputs[0]).producer);
    return rule_for(fmt::format("{}{}", kBlocksPrefix, join_.op->name), source, rule_.target);
  }

  const Graph& graph_;
  const Node& join_;
  SizeTexts sizes_;
  std::size_t axis_;
  Row operands_;
  const Node* split_ = nullptr;
  std::size_t computed_ = 0;
  Written rule_;
  std::set<Wanted> failed_;  ///< Also what was too deep there, and might not be elsewhere.
  int tries_ = 0;
  int fresh_ = 0;
};

}  // namespace

std::vector<RewriteSequence> find_passing_parts(const Graph& graph) {
  std::vector<RewriteSequence> found;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kJoin || node.inputs.size() < 2 ||
        graph.is_constant_expression(node.outputs[0]))
      continue;
    RewriteStep step{.results = {node.outputs[0]},
                     .texts = {},
                     .description = kPassingDescription,
                     .floats = FloatBehavior::kReassociates};
    for (const bool any_sizes : {true, false})
      if (auto text = PassingJoin(graph, node, any_sizes).text()) step.texts.push_back(*text);
    if (!step.texts.empty()) found.push_back({{std::move(step)}});
  }
  return found;
}

}  // namespace soapstone::transforms
