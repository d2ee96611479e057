// A gradient operator asks the operator that it belongs to for shapes and meaning, with input types
// that it puts together from its own inputs and attributes.
#include "ops/gradients/gradient_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "ops/definition/infer_rules.h"
#include "ops/definition/registry.h"
#include "ops/gradients/adjoint.h"
#include "ops/gradients/pruning.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;
using core::TensorId;
using Sizes = std::vector<Polynomial>;

constexpr const char* kInput = "of_input";
constexpr const char* kShapes = "input_shapes";
constexpr const char* kTypes = "input_types";

// --- Attributes ---------------------------------------------------------------------------------

Sizes written_shapes(std::span<const TensorType> inputs) {
  Sizes list;
  for (const TensorType& type : inputs) {
    list.emplace_back(type.shape_known ? static_cast<std::int64_t>(type.shape.size()) : -1);
    list.insert(list.end(), type.shape.begin(), type.shape.end());
  }
  return list;
}

/// Types with the shapes of the list, element types still unknown. None: it is no list of shapes.
std::optional<std::vector<TensorType>> read_shapes(const Sizes& list) {
  std::vector<TensorType> types;
  for (std::size_t at = 0; at < list.size();) {
    const auto rank = list[at++].as_constant();
    const auto left = static_cast<std::int64_t>(list.size() - at);
    if (!rank || *rank < -1 || *rank > left) return std::nullopt;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
    const std::int64_t count = std::max<std::int64_t>(*rank, 0);
    types.push_back({DataType::kOther, Shape(first, first + count), *rank >= 0});
    at += static_cast<std::size_t>(count);
  }
  return types;
}

/// Empty if all inputs have the type of the cotangents.
std::string written_types(std::span<const TensorType> inputs, DataType of_cotangents) {
  const auto is_other = [&](const TensorType& type) {
    return type.shape_known && type.data_type != of_cotangents;
  };
  std::string text;
  if (std::ranges::none_of(inputs, is_other)) return text;
  for (const TensorType& type : inputs) {
    const DataType written = type.shape_known ? type.data_type : of_cotangents;
    text += (text.empty() ? "" : " ") + std::string(core::to_string(written));
  }
  return text;
}

/// Sets the element types that the text says. Whether it is a list of as many types.
bool read_types(const std::string& text, DataType of_cotangents, std::vector<TensorType>& inputs) {
  std::istringstream words(text);
  std::string word;
  for (TensorType& type : inputs) {
    type.data_type = of_cotangents;
    if (text.empty()) continue;
    const auto parsed = words >> word ? core::parse_data_type(word) : std::nullopt;
    if (!parsed) return false;
    type.data_type = *parsed;
  }
  return !(words >> word);
}

std::vector<core::AttributeSchema> attributes_of_gradient(const OpDefinition& op) {
  std::vector<core::AttributeSchema> attributes = op.attributes;
  for (core::AttributeSchema& attribute : attributes) attribute.values_to_try.clear();
  attributes.push_back({kInput, AttributeRole::kInput, std::nullopt, {}});
  attributes.push_back({kShapes, AttributeRole::kInputShapes, std::nullopt, {}});
  attributes.push_back({kTypes, AttributeRole::kText, std::string(), {}});
  return attributes;
}

// --- Shapes and meaning -------------------------------------------------------------------------

/// Both sides of the operator of which a gradient is asked for.
struct Forward {
  std::vector<TensorType> inputs, outputs;
  std::size_t input = 0;
  std::vector<bool> has_cotangent;
};

DataType type_of_cotangents(std::span<const TensorType> cotangents) {
  const auto given = std::ranges::find_if(cotangents, &TensorType::shape_known);
  return given == cotangents.end() ? DataType::kOther : given->data_type;
}

/// `types` are those of the gradient's inputs. None: the attributes do not say how many of them are
/// inputs of the operator.
std::optional<Forward> forward_of(const core::Attributes& attributes,
                                  std::span<const TensorType> types) {
  auto inputs = read_shapes(attributes.get_sizes(kShapes));
  if (!inputs || inputs->empty() || inputs->size() >= types.size()) return std::nullopt;
  Forward forward;
  forward.inputs = *std::move(inputs);
  const auto cotangents = types.subspan(forward.inputs.size());
  forward.outputs.assign(cotangents.begin(), cotangents.end());
  for (const TensorType& type : cotangents) forward.has_cotangent.push_back(type.shape_known);
  return forward;
}

/// The derivative of the operator's meaning. Precondition: all types are complete.
Semantics semantics_of_gradient(const OpDefinition& op, const core::Attributes& attributes,
                                const Forward& forward) {
  const Semantics meaning = op.semantics({attributes, forward.inputs, forward.outputs});
  std::vector<Shape> shapes;
  for (const TensorType& type : forward.inputs) shapes.push_back(type.shape);
  return adjoint(
      {meaning, shapes, static_cast<std::uint32_t>(forward.input), forward.has_cotangent});
}

bool same_shape(InferContext& c, const std::string& what, const Shape& given,
                const Shape& expected) {
  if (!c.require(given.size() == expected.size(), what,
                 "an input has another number of dimensions"))
    return false;
  for (std::size_t d = 0; d < given.size(); ++d)
    if (!c.require_equal(given[d], expected[d], what)) return false;
  return true;
}

/// The attributes describe inputs, and those that are given are such.
std::optional<Forward> require_inputs(InferContext& c, const std::string& name) {
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < c.input_count(); ++k) types.push_back(c.input(k));
  auto forward = forward_of(c.attributes(), types);
  if (!c.require(forward.has_value(), label(name, kShapes),
                 "it must list the rank and the sizes of each input of the operator; cotangents "
                 "follow these"))
    return std::nullopt;
  const DataType of_cotangents = type_of_cotangents(forward->outputs);
  if (!c.require(of_cotangents != DataType::kOther, label(name, "cotangents"),
                 "no cotangent is given") ||
      !c.require(read_types(c.attributes().get_text(kTypes), of_cotangents, forward->inputs),
                 label(name, kTypes), "it must name an element type for each input"))
    return std::nullopt;
  const auto input = require_int(c, name, kInput);
  if (!input) return std::nullopt;
  forward->input = static_cast<std::size_t>(*input);
  const bool is_there = *input >= 0 && forward->input < forward->inputs.size() &&
                        forward->inputs[forward->input].shape_known;
  if (!c.require(is_there && core::is_floating(forward->inputs[forward->input].data_type),
                 label(name, kInput), "there is no such input with floating-point elements"))
    return std::nullopt;
  for (std::size_t k = 0; k < forward->inputs.size(); ++k)
    if (c.has_input(k) &&
        (!same_shape(c, label(name, kShapes), c.shape(k), forward->inputs[k].shape) ||
         !c.require(c.input(k).data_type == forward->inputs[k].data_type, label(name, kTypes),
                    fmt::format("input {} has another element type", k))))
      return std::nullopt;
  return forward;
}

/// The cotangents are like the results of the operator; one that is left out gets the type of its
/// result.
bool require_cotangents(InferContext& c, const OpDefinition& op, const std::string& name,
                        Forward& forward) {
  std::vector<TensorType> outputs = c.infer_with(op.infer, forward.inputs, op.name);
  if (c.failed() || !c.require(outputs.size() == forward.outputs.size(), label(name, "cotangents"),
                               fmt::format("{} has {} results", op.name, outputs.size())))
    return false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!forward.has_cotangent[k]) continue;
    if (!same_shape(c, label(name, "cotangents"), forward.outputs[k].shape, outputs[k].shape) ||
        !c.require(forward.outputs[k].data_type == outputs[k].data_type, label(name, "cotangents"),
                   "a cotangent has another element type"))
      return false;
  }
  forward.outputs = std::move(outputs);
  return true;
}

std::vector<TensorType> infer_gradient(const OpDefinition& op, InferContext& c) {
  const std::string name = gradient_name(op.name);
  auto forward = require_inputs(c, name);
  if (!forward || !require_cotangents(c, op, name, *forward)) return {};
  for (const std::uint32_t k : inputs_read(semantics_of_gradient(op, c.attributes(), *forward)))
    if (!c.require(c.has_input(k), label(name, "inputs"),
                   fmt::format("the derivative reads input {}, which is left out", k)))
      return {};
  return {forward->inputs[forward->input]};
}

Semantics gradient_semantics(const OpDefinition& op, const OpInstance& instance) {
  auto forward = forward_of(instance.attributes, instance.inputs);
  CHECK(forward && read_types(instance.attributes.get_text(kTypes),
                              type_of_cotangents(forward->outputs), forward->inputs),
        "the shape rule has checked the attributes");
  forward->input = static_cast<std::size_t>(instance.attributes.get_int(kInput));
  InferContext context(instance.attributes, forward->inputs, op.name);
  const std::vector<TensorType> outputs = op.infer(context);
  for (std::size_t k = 0; k < forward->outputs.size(); ++k)
    if (!forward->has_cotangent[k]) forward->outputs[k] = outputs[k];
  return semantics_of_gradient(op, instance.attributes, *forward);
}

/// If the result is a cotangent, element for element: which input of the gradient that is.
std::optional<std::uint32_t> copied_input(const Semantics& semantics, const Forward& forward) {
  const Stage& stage = semantics.stages.back();
  const ExprNode& body = *stage.body;
  if (semantics.stages.size() != 1 || body.kind != ExprKind::kRead) return std::nullopt;
  const std::vector<Polynomial> index(stage.index.begin(), stage.index.end());
  const bool is_whole = forward.outputs[body.tensor - forward.inputs.size()].shape == stage.shape;
  return is_whole && body.index == index ? std::optional(body.tensor) : std::nullopt;
}

template <class TypeOf>
std::optional<GradientOf> described(const core::Node& node, const TypeOf& type_of) {
  const OpDefinition* definition = definition_of(node);
  if (!definition || !definition->find_role(AttributeRole::kInputShapes)) return std::nullopt;
  std::vector<TensorType> types;
  for (const TensorId t : node.inputs)
    types.push_back(t.valid() ? type_of(t) : TensorType{DataType::kOther, {}, false});
  auto forward = forward_of(node.attributes, types);
  if (!forward) return std::nullopt;
  read_types(node.attributes.get_text(kTypes), type_of_cotangents(forward->outputs),
             forward->inputs);
  const std::string& name = definition->name;
  const std::string of = name.substr(0, name.size() - gradient_name("").size());
  return GradientOf{registry().definition(of), std::move(forward->inputs),
                    static_cast<std::size_t>(node.attributes.get_int(kInput))};
}

/// The gradient of an elementwise operator may have to add, and so may that of one that only moves
/// elements: nothing is promised but for contractions, whose gradients are contractions.
OpClass class_of_gradient(const OpDefinition& op) {
  return op.op_class == OpClass::kContraction ? OpClass::kContraction : OpClass::kNormalization;
}

}  // namespace

std::string gradient_name(const std::string& op) { return op + "_grad"; }

OpDefinition gradient_operator(const OpDefinition& op) {
  const std::string name = gradient_name(op.name);
  return OpDefinition({
      .name = name,
      .equation = fmt::format("inputs of {0}, cotangents of its results → the cotangent of one "
                              "input, from the derivative of {0}",
                              op.name),
      .attributes = attributes_of_gradient(op),
      // Any number, of which any may be left out.
      .inputs = std::pair<std::size_t, std::size_t>(0, core::OpSchema::kAnyNumber - 1),
      .op_class = class_of_gradient(op),
      .infer = [&op](InferContext& c) { return infer_gradient(op, c); },
      .semantics = [&op](const OpInstance& instance) { return gradient_semantics(op, instance); },
      .onnx = OnnxMapping{{},
                          [name](OnnxExport&) -> core::Status {
                            return core::unsupported(
                                fmt::format("{}: ONNX has no such operator", name));
                          }},
  });
}

std::vector<OpDefinition>
derived_operators(std::span<const std::unique_ptr<OpDefinition>> operators) {
  std::vector<OpDefinition> gradients;
  for (const auto& op : operators)
    if (op->max_inputs > 0) gradients.push_back(gradient_operator(*op));
  return gradients;
}

std::optional<GradientOf> gradient_of(const core::Node& node, const core::GraphBuilder& builder) {
  return described(node, [&](TensorId t) { return builder.tensor(t).type; });
}

std::optional<GradientOf> gradient_of(const core::Graph& graph, core::NodeId node) {
  return described(graph.node(node), [&](TensorId t) { return graph.tensor(t).type; });
}

TensorId append_gradient(core::GraphBuilder& builder, const core::Node& node, std::size_t input,
                         std::span<const TensorId> cotangents, const OperandFunction& operand) {
  const OpDefinition* op = definition_of(node);
  CHECK(op && cotangents.size() == node.outputs.size(), "no gradient of an opaque node");
  Forward forward;
  forward.input = input;
  for (const TensorId t : node.inputs)
    forward.inputs.push_back(t.valid() ? builder.tensor(t).type
                                       : TensorType{DataType::kOther, {}, false});
  DataType of_cotangents = DataType::kOther;
  for (std::size_t k = 0; k < cotangents.size(); ++k) {
    forward.outputs.push_back(builder.tensor(node.outputs[k]).type);
    forward.has_cotangent.push_back(cotangents[k].valid());
    if (cotangents[k].valid() && of_cotangents == DataType::kOther)
      of_cotangents = forward.outputs[k].data_type;
  }
  const Semantics semantics = semantics_of_gradient(*op, node.attributes, forward);
  std::vector<TensorId> inputs = node.inputs;
  inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
  if (const auto copied = copied_input(semantics, forward)) return inputs[*copied];
  const std::set<std::uint32_t> read = inputs_read(semantics);
  if (read.empty()) return TensorId::none();
  for (std::uint32_t k = 0; k < inputs.size(); ++k) {
    if (!read.contains(k)) inputs[k] = TensorId::none();
    if (operand && k < node.inputs.size() && inputs[k].valid()) inputs[k] = operand(inputs[k]);
  }

  core::Attributes attributes = node.attributes;
  attributes.set(kInput, Polynomial(static_cast<std::int64_t>(input)));
  attributes.set(kShapes, written_shapes(forward.inputs));
  attributes.set(kTypes, written_types(forward.inputs, of_cotangents));
  const OpDefinition* gradient = registry().definition(gradient_name(op->name));
  CHECK(gradient, "an operator without a gradient: " + op->name);
  return builder.add_node(*gradient, std::move(attributes), std::move(inputs),
                          {forward.inputs[input]}, node.name.empty() ? "" : node.name + "/grad")[0];
}

}  // namespace soapstone::ops
