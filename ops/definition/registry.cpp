// The table of operators, and what can be said of a node by looking its operator up: complete
// attributes, result types, meaning.
#include "ops/definition/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/composite_operators.h"
#include "ops/language/size_limits.h"

namespace soapstone::ops {
namespace {

using core::AttributeKind;
using core::Attributes;
using core::AttributeValue;
using core::DataType;
using core::Result;
using core::TensorId;
using core::TensorType;

struct OpaqueSchema final : core::OpSchema {
  OpaqueSchema() {
    name = "opaque";
    min_inputs = 0;
    max_inputs = kAnyNumber;
    for (const char* attribute : {"domain", "op_type", "proto"})
      attributes.push_back({attribute, core::AttributeRole::kText, std::string(), {}});
  }
};

AttributeKind kind_of(const AttributeValue& value) {
  constexpr AttributeKind kKinds[] = {AttributeKind::kInt, AttributeKind::kReal,
                                      AttributeKind::kText, AttributeKind::kInts};
  return kKinds[value.index()];
}

std::string_view name_of(AttributeKind kind) {
  constexpr std::string_view kNames[] = {"an integer", "a number", "a text", "a list of integers"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// `value` as `kind`: an integer also serves as a number. None: it does not fit.
std::optional<AttributeValue> converted(const AttributeValue& value, AttributeKind kind) {
  if (kind_of(value) == kind) return value;
  if (kind == AttributeKind::kReal && kind_of(value) == AttributeKind::kInt)
    if (auto number = std::get<core::Polynomial>(value).as_constant())
      return AttributeValue(static_cast<double>(*number));
  return std::nullopt;
}

std::string known_attributes(const core::OpSchema& op) {
  if (op.attributes.empty()) return fmt::format("{} has no attributes", op.name);
  std::string text;
  for (const auto& a : op.attributes) text += (text.empty() ? "" : ", ") + a.name;
  return fmt::format("{} has: {}", op.name, text);
}

bool is_required(const core::OpSchema& op, std::size_t input) {
  return input < op.min_inputs || op.max_inputs == core::OpSchema::kAnyNumber;
}

core::Status check_inputs(const core::OpSchema& op, std::size_t count) {
  if (count >= op.min_inputs && count <= op.max_inputs) return core::Done{};
  std::string expected = fmt::format("{}", op.min_inputs);
  if (op.max_inputs == core::OpSchema::kAnyNumber)
    expected = "at least " + expected;
  else if (op.max_inputs != op.min_inputs)
    expected += fmt::format(" to {}", op.max_inputs);
  return core::invalid_input(
      fmt::format("{}: takes {} inputs but has {} [{}.inputs]", op.name, expected, count, op.name));
}

/// Types behind an input of unknown shape. The element types are found by asking the shape rule
/// about scalars, which answers for elementwise operators; the others keep their input's.
std::vector<TensorType> unknown_results(const OpDefinition& op, const Attributes& attributes,
                                        std::span<const TensorType> inputs) {
  std::size_t count = 1;
  if (const core::AttributeSchema* parts = op.find_role(core::AttributeRole::kParts))
    if (const auto* sizes = attributes.find(parts->name))
      if (const auto* list = std::get_if<std::vector<core::Polynomial>>(sizes))
        count = list->size();
  TensorType result{inputs.empty() ? DataType::kOther : inputs[0].data_type, {}, false};
  std::vector<TensorType> scalars(inputs.begin(), inputs.end());
  for (TensorType& t : scalars) t.shape.clear(), t.shape_known = true;
  InferContext context(attributes, scalars, op.name);
  if (op.op_class == OpClass::kElementwise) {
    const auto guessed = op.infer(context);
    if (!context.failed() && !guessed.empty()) result.data_type = guessed[0].data_type;
  }
  return std::vector<TensorType>(count, result);
}

/// Marks an input that is left out, as InferContext and OpInstance expect it.
TensorType left_out() { return {DataType::kOther, {}, false}; }

}  // namespace

Registry::Registry(std::vector<std::vector<OpDefinition>> families) {
  for (auto& family : families)
    for (auto& op : family) add(std::move(op), definitions_);
  for (auto& op : derived_operators(definitions_)) add(std::move(op), derived_);
  for (auto& op : composite_operators()) add(std::move(op), derived_);
}

void Registry::add(OpDefinition op, std::vector<std::unique_ptr<OpDefinition>>& list) {
  CHECK(!find(op.name), "operator defined twice: " + op.name);
  list.push_back(std::make_unique<OpDefinition>(std::move(op)));
  by_name_.emplace(list.back()->name, list.back().get());
}

const core::OpSchema* Registry::find(std::string_view name) const {
  if (name == opaque_schema().name) return &opaque_schema();
  return definition(name);
}

const OpDefinition* Registry::definition(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Registry& registry() {
  static const Registry kRegistry(operator_families());
  return kRegistry;
}

const core::OpSchema& opaque_schema() {
  static const OpaqueSchema kSchema;
  return kSchema;
}

const OpDefinition* definition_of(const core::Node& node) {
  // Every other schema in a graph comes from a Registry, which holds nothing but OpDefinitions.
  return is_opaque(node) ? nullptr : static_cast<const OpDefinition*>(node.op);
}

Result<Attributes> complete_attributes(const core::OpSchema& op, const Attributes& given) {
  Attributes complete;
  for (const auto& [name, value] : given.values()) {
    const core::AttributeSchema* schema = op.find_attribute(name);
    if (!schema && &op == &opaque_schema()) {
      complete.set(name, value);
      continue;
    }
    if (!schema)
      return core::invalid_input(
          fmt::format("{}: unknown attribute '{}' [{}.attributes]", op.name, name, op.name),
          known_attributes(op));
    auto fitting = converted(value, schema->kind());
    if (!fitting)
      return core::invalid_input(
          fmt::format("{}: attribute '{}' must be {}, not {} [{}.attributes]", op.name, name,
                      name_of(schema->kind()), name_of(kind_of(value)), op.name));
    complete.set(name, *std::move(fitting));
  }
  for (const auto& schema : op.attributes) {
    if (complete.find(schema.name)) continue;
    if (!schema.default_value)
      return core::invalid_input(fmt::format("{}: attribute '{}' is missing [{}.attributes]",
                                             op.name, schema.name, op.name));
    complete.set(schema.name, *schema.default_value);
  }
  return complete;
}

Result<std::vector<TensorType>> infer_types(const core::OpSchema& op, const Attributes& attributes,
                                            std::span<const TensorType> inputs) {
  SOAPSTONE_RETURN_IF_ERROR(check_inputs(op, inputs.size()));
  if (&op == &opaque_schema()) return std::vector<TensorType>{left_out()};
  const OpDefinition* definition = registry().definition(op.name);
  if (!definition) return core::unsupported(fmt::format("unknown operator '{}'", op.name));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!inputs[k].shape_known && is_required(op, k))
      return unknown_results(*definition, attributes, inputs);
  SOAPSTONE_RETURN_IF_ERROR(check_attribute_sizes(op, attributes));
  SOAPSTONE_RETURN_IF_ERROR(check_tensor_sizes(op, inputs));
  InferContext context(attributes, inputs, op.name);
  auto results = definition->infer(context);
  if (context.failed()) return context.error();
  SOAPSTONE_RETURN_IF_ERROR(check_tensor_sizes(op, results));
  if (!context.derived().empty())
    return core::unsupported(
        fmt::format("{}: the result has a size that no polynomial in the symbols expresses",
                    op.name),
        "give the sizes as numbers");
  return results;
}

Result<std::vector<TensorId>> append(core::GraphBuilder& builder, std::string_view op,
                                     std::vector<TensorId> inputs, const Attributes& attributes,
                                     std::string name) {
  const OpDefinition* definition = registry().definition(op);
  if (!definition) return core::unsupported(fmt::format("unknown operator '{}'", op));
  SOAPSTONE_ASSIGN_OR_RETURN(Attributes complete, complete_attributes(*definition, attributes));
  std::vector<TensorType> types;
  for (TensorId id : inputs) types.push_back(id.valid() ? builder.tensor(id).type : left_out());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!inputs[k].valid() && is_required(*definition, k))
      return core::invalid_input(fmt::format("{}: input {} is missing [{}.inputs]", op, k, op));
  SOAPSTONE_ASSIGN_OR_RETURN(std::vector<TensorType> results,
                             infer_types(*definition, complete, types));
  return builder.add_node(*definition, std::move(complete), std::move(inputs), std::move(results),
                          std::move(name));
}

Semantics semantics_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const OpDefinition* definition = definition_of(node);
  CHECK(definition, "an opaque node has no meaning that we know");
  std::vector<TensorType> inputs, outputs;
  for (TensorId t : node.inputs) inputs.push_back(t.valid() ? graph.tensor(t).type : left_out());
  for (TensorId t : node.outputs) outputs.push_back(graph.tensor(t).type);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    CHECK(inputs[k].shape_known || !node.inputs[k].valid(),
          "input shape unknown: " + node.op->name);
  return definition->semantics({node.attributes, inputs, outputs});
}

}  // namespace soapstone::ops
