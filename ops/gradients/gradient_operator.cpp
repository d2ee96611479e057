// A gradient operator asks the operator that it belongs to for shapes and meaning, with input types
// that it puts together from its own inputs and attributes.
#include "ops/gradients/gradient_operator.h"

#include <fmt/format.h>

#include "ops/definition/infer_rules.h"
#include "ops/definition/registry.h"
#include "ops/gradients/gradient_attributes.h"
#include "ops/gradients/pruning.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;
using core::TensorId;

std::vector<core::AttributeSchema> attributes_of_gradient(const OpDefinition& op) {
  std::vector<core::AttributeSchema> attributes = op.attributes;
  for (core::AttributeSchema& attribute : attributes) attribute.values_to_try.clear();
  attributes.push_back({gradients::kInput, AttributeRole::kInput, std::nullopt, {}});
  attributes.push_back({gradients::kShapes, AttributeRole::kInputShapes, std::nullopt, {}});
  attributes.push_back({gradients::kTypes, AttributeRole::kText, std::string(), {}});
  return attributes;
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
std::optional<gradients::Forward> require_inputs(InferContext& c, const std::string& name) {
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < c.input_count(); ++k) types.push_back(c.input(k));
  auto forward = gradients::forward_of(c.attributes(), types);
  if (!c.require(forward.has_value(), label(name, gradients::kShapes),
                 "it must list the rank and the sizes of each input of the operator; cotangents "
                 "follow these"))
    return std::nullopt;
  const DataType of_cotangents = gradients::type_of_cotangents(forward->outputs);
  if (!c.require(of_cotangents != DataType::kOther, label(name, "cotangents"),
                 "no cotangent is given") ||
      !c.require(gradients::read_types(c.attributes(), *forward), label(name, gradients::kTypes),
                 "it must name an element type for each input"))
    return std::nullopt;
  const auto input = require_int(c, name, gradients::kInput);
  if (!input) return std::nullopt;
  forward->input = static_cast<std::size_t>(*input);
  const bool is_there = *input >= 0 && forward->input < forward->inputs.size() &&
                        forward->inputs[forward->input].shape_known;
  if (!c.require(is_there && core::is_floating(forward->inputs[forward->input].data_type),
                 label(name, gradients::kInput),
                 "there is no such input with floating-point elements"))
    return std::nullopt;
  for (std::size_t k = 0; k < forward->inputs.size(); ++k)
    if (c.has_input(k) &&
        (!same_shape(c, label(name, gradients::kShapes), c.shape(k), forward->inputs[k].shape) ||
         !c.require(c.input(k).data_type == forward->inputs[k].data_type,
                    label(name, gradients::kTypes),
                    fmt::format("input {} has another element type", k))))
      return std::nullopt;
  return forward;
}

/// The cotangents are like the results of the operator; one that is left out gets the type of its
/// result.
bool require_cotangents(InferContext& c, const OpDefinition& op, const std::string& name,
                        gradients::Forward& forward) {
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
  for (const std::uint32_t k :
       inputs_read(gradients::semantics_of_gradient(op, c.attributes(), *forward)))
    if (!c.require(c.has_input(k), label(name, "inputs"),
                   fmt::format("the derivative reads input {}, which is left out", k)))
      return {};
  return {forward->inputs[forward->input]};
}

Semantics gradient_semantics(const OpDefinition& op, const OpInstance& instance) {
  auto forward = gradients::forward_of(instance.attributes, instance.inputs);
  CHECK(forward && gradients::read_types(instance.attributes, *forward),
        "the shape rule has checked the attributes");
  forward->input = static_cast<std::size_t>(instance.attributes.get_int(gradients::kInput));
  InferContext context(instance.attributes, forward->inputs, op.name);
  const std::vector<TensorType> outputs = op.infer(context);
  for (std::size_t k = 0; k < forward->outputs.size(); ++k)
    if (!forward->has_cotangent[k]) forward->outputs[k] = outputs[k];
  return gradients::semantics_of_gradient(op, instance.attributes, *forward);
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

bool gradient_fits(const OpDefinition& op, const core::Attributes& attributes,
                   const std::vector<TensorType>& inputs) {
  auto forward = gradients::forward_of(attributes, inputs);
  if (!forward || !gradients::read_types(attributes, *forward)) return false;
  InferContext context(attributes, forward->inputs, op.name);
  return op.infer(context).size() == forward->outputs.size() && !context.failed();
}

std::optional<GradientOf> gradient_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const OpDefinition* definition = definition_of(node);
  if (!definition || !definition->find_role(AttributeRole::kInputShapes)) return std::nullopt;
  std::vector<TensorType> types;
  for (const TensorId t : node.inputs)
    types.push_back(t.valid() ? graph.tensor(t).type : TensorType{DataType::kOther, {}, false});
  auto forward = gradients::forward_of(node.attributes, types);
  if (!forward || !gradients::read_types(node.attributes, *forward)) return std::nullopt;
  const std::string& name = definition->name;
  const std::string of = name.substr(0, name.size() - gradient_name("").size());
  return GradientOf{registry().definition(of), std::move(forward->inputs),
                    static_cast<std::size_t>(node.attributes.get_int(gradients::kInput))};
}

}  // namespace soapstone::ops
