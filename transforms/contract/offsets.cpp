#include "transforms/contract/offsets.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of nodes behind an addition.
constexpr std::size_t kMostNodesBehind = 8;
/// Of a constant that is added.
constexpr std::int64_t kMostOffsetElements = 1 << 16;

constexpr std::string_view kOffsetDescription =
    "What is linear in a sum with a constant is a sum with a constant.";

/// A sum with a constant, as the texts of its rules have it.
struct Offset {
  Sizes constant;  ///< Its shape.
  bool constant_is_first = false;
  const Node* convolution = nullptr;  ///< Whose bias it is; null: it is added.
};

class OffsetPlanner {
 public:
  explicit OffsetPlanner(const Graph& graph) : graph_(graph) {}

  std::optional<RewriteSequence> plan(NodeId id) {
    const Node& node = graph_.node(id);
    auto offset = offset_of(node);
    if (!offset) return std::nullopt;
    RewriteSequence plan;
    bool has_product = false;
    TensorId sum = node.outputs[0];
    for (std::size_t count = 0; count < kMostNodesBehind; ++count) {
      if (graph_.is_output(sum) || graph_.consumers(sum).size() != 1) break;
      const Node& reader = graph_.node(graph_.consumers(sum)[0]);
      const auto operand = linear_operand(reader, sum);
      if (!operand) break;
      auto step = behind(reader, *operand, sum, *offset);
      if (!step) break;
      plan.steps.push_back(*std::move(step));
      sum = reader.outputs[0];
      has_product =
          has_product || ops::definition_of(reader)->op_class == ops::OpClass::kContraction;
    }
    return has_product ? std::optional(std::move(plan)) : std::nullopt;
  }

 private:
  Sizes shape(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  std::string declared_as(const std::string& name, TensorId id) const {
    return fmt::format("  {}: {}\n", name, declared(graph_.tensor(id).type, names_of(shape(id))));
  }

  std::optional<Offset> offset_of(const Node& node) const {
    if (node.outputs.size() != 1 || graph_.is_constant_expression(node.outputs[0]) ||
        !core::is_floating(graph_.tensor(node.outputs[0]).type.data_type))
      return std::nullopt;
    if (ops::is_convolution(node)) {
      if (node.inputs.size() < 3 || !node.inputs[2].valid() || !has_known_sizes(graph_, node) ||
          !graph_.is_constant_expression(node.inputs[2]))
        return std::nullopt;
      Sizes channels(shape(node.outputs[0]).size() - 1, 1);
      channels[0] = shape(node.inputs[2])[0];
      return Offset{.constant = std::move(channels), .convolution = &node};
    }
    if (ops::arithmetic_of(*node.op) != ops::Arithmetic::kSum || !has_known_sizes(graph_, node))
      return std::nullopt;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
      if (graph_.is_constant_expression(node.inputs[k]) &&
          shape(node.inputs[1 - k]) == shape(node.outputs[0]))
        return Offset{.constant = shape(node.inputs[k]), .constant_is_first = k == 0};
    return std::nullopt;
  }

  /// The only operand that is this tensor, in which the node is linear with constants as others.
  std::optional<std::size_t> linear_operand(const Node& node, TensorId sum) const {
    if (node.op->is_opaque() || node.outputs.size() != 1) return std::nullopt;
    std::vector<bool> operands;
    for (const TensorId input : node.inputs) {
      operands.push_back(input == sum);
      if (input != sum && input.valid() && !graph_.is_constant_expression(input))
        return std::nullopt;
    }
    const bool is_known = std::ranges::all_of(node.inputs, [](TensorId t) { return t.valid(); }) &&
                          has_known_sizes(graph_, node);
    if (!is_known || std::ranges::count(operands, true) != 1) return std::nullopt;
    const auto linearity = linearity_in(graph_, node, operands);
    if (!linearity) return std::nullopt;
    // A bias stays; a constant that is added is another offset.
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (!operands[k] && linearity->is_added[k] &&
          (!ops::is_convolution(node) || k + 1 != operands.size()))
        return std::nullopt;
    return std::ranges::find(operands, true) - operands.begin();
  }

  /// The constant where the node reads it: all places of an axis, unless each is treated alike.
  Sizes read_shape(const Node& node, std::size_t operand, const Sizes& whole,
                   const Sizes& constant) const {
    Sizes read = whole;
    const std::size_t added = whole.size() - constant.size();
    if (node.op->movement == Movement::kReshape || node.op->movement == Movement::kRepeat)
      return read;
    for (std::size_t d = 0; d < whole.size(); ++d) {
      if (d >= added && constant[d - added] != 1) continue;
      std::vector<std::optional<std::size_t>> axes(node.inputs.size());
      axes[operand] = d;
      if (kept_axis(graph_, node, axes)) read[d] = 1;
    }
    return read;
  }

  /// Its step; `offset` is then that of the node's result.
  std::optional<RewriteStep> behind(const Node& node, std::size_t operand, TensorId sum,
                                    Offset& offset) const {
    const Sizes whole = shape(sum), read = read_shape(node, operand, whole, offset.constant);
    if (core::element_count(read) > kMostOffsetElements) return std::nullopt;
    SideText source, target;
    std::string head, x = "x", t;
    if (offset.convolution != nullptr) {
      const Node& first = *offset.convolution;
      head = declared_as("x", first.inputs[0]) + declared_as("u", first.inputs[1]) +
             declared_as("c", first.inputs[2]);
      t = source.line(call_of(graph_, first, {"x", "u", "c"}));
      x = target.line(call_of(graph_, first, {"x", "u"}));
    } else {
      head = fmt::format("  x: {}\n  c: {}\n", declared(graph_.tensor(sum).type, names_of(whole)),
                         declared(graph_.tensor(sum).type, names_of(offset.constant)));
      t = source.line(fmt::format("add({})", offset.constant_is_first ? "c, x" : "x, c"));
    }
    std::string c =
        offset.convolution == nullptr
            ? "c"
            : target.reshaped("c", names_of({offset.constant[0]}), names_of(offset.constant));
    Sizes lying = offset.constant;
    lying.insert(lying.begin(), whole.size() - lying.size(), 1);
    c = target.reshaped(c, names_of(offset.constant), names_of(lying));
    if (lying != read) c = target.expanded(c, names_of(read));
    Names given, of_x, of_c;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::string name = k == operand ? "" : fmt::format("w{}", k);
      if (k != operand) head += declared_as(name, node.inputs[k]);
      given.push_back(k == operand ? t : name);
      of_x.push_back(k == operand ? x : name);
      const bool is_bias = ops::is_convolution(node) && k == 2;
      if (!is_bias) of_c.push_back(k == operand ? c : name);
    }
    const auto result = result_shape(node, operand, read);
    if (!result) return std::nullopt;
    const std::string y = source.line(call_of(graph_, node, given));
    const std::string p = target.line(call_of(graph_, node, of_x));
    const std::string q = target.line(call_of(graph_, node, of_c));
    const std::string added = target.line(fmt::format("add({}, {})", p, q));
    offset = {.constant = *result};
    return RewriteStep{.results = {node.outputs[0]},
                       .texts = {rule_text(fmt::format("{}{}", kOffsetPrefix, node.op->name), head,
                                           source, {y}, target, {added})},
                       .description = kOffsetDescription,
                       .floats = FloatBehavior::kReassociates};
  }

  /// Of the constant behind the node. None: the node wants more of it.
  std::optional<Sizes> result_shape(const Node& node, std::size_t operand,
                                    const Sizes& read) const {
    std::vector<core::TensorType> types;
    for (const TensorId id : node.inputs) types.push_back(graph_.tensor(id).type);
    types[operand].shape = core::to_shape(read);
    const auto results = ops::infer_types(*node.op, node.attributes, types);
    if (!results || !core::concrete((*results)[0].shape)) return std::nullopt;
    return *core::concrete((*results)[0].shape);
  }

  const Graph& graph_;
};

}  // namespace

std::vector<RewriteSequence> find_offsets(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  OffsetPlanner planner(graph);
  for (const NodeId id : graph.order())
    if (auto plan = planner.plan(id)) plans.push_back(*std::move(plan));
  return plans;
}

}  // namespace soapstone::transforms
