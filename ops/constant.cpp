// `full`: one value at every place of a shape that a rule may leave symbolic. Constants with
// elements of their own are tensors of the graph, not operators.
#include "ops/indexing.h"
#include "ops/onnx_reading.h"
#include "ops/onnx_writing.h"
#include "ops/registry.h"

namespace soapstone::ops {
namespace {

using core::AttributeKind;
using core::DataType;

std::vector<TensorType> infer_full(InferContext& c) {
  if (!require_representable(c, "full", "value")) return {};
  const Shape& shape = c.attributes().get_sizes("shape");
  for (const Polynomial& size : shape)
    if (!c.require_at_least(size, 0, "full.shape")) return {};
  return {{DataType::kFloat32, shape}};
}

Semantics full_semantics(const OpInstance& op) {
  SemanticsBuilder builder(0);
  builder.output(op.outputs[0].shape,
                 [&](const Index&) { return number(op.attributes.get_real("value")); });
  return std::move(builder).finish();
}

/// f32 becomes `full`; shapes and masks become constants, whose elements the reader of a later
/// node may need to know.
ReadResult read_constant_of_shape(OnnxImport& import) {
  const core::LiteralPtr shape = import.constant_input(0);
  const auto dims = shape ? shape->to_ints() : std::nullopt;
  if (!dims) return cannot_read(import, "the shape is not known");
  DataType type = DataType::kFloat32;
  double value = 0;
  if (const OnnxAttribute* given = import.attribute("value")) {
    const auto* literal = std::get_if<core::LiteralPtr>(given);
    if (!literal || (*literal)->count() != 1) return bad_node(import, "value must be one element");
    type = (*literal)->data_type();
    if (!admits(Elements::kNumbers, type)) return cannot_read(import, "elements are texts");
    value = (*literal)->to_doubles()[0];
  }
  const auto count = core::checked_element_count(*dims);
  if (!count) return bad_node(import, "the shape has a negative size or too many elements");
  if (type == DataType::kFloat32 && is_representable(value))
    return import.append(
        "full", {},
        {{"shape", to_sizes(*dims)}, {"value", shortest_decimal(static_cast<float>(value))}});
  constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
  if (*count > kMostElements) return cannot_read(import, "a large constant");
  return std::vector{import.constant(filled_literal(type, *dims, value))};
}

core::Status write_full(OnnxExport& out) {
  Emitter emitter(out);
  const auto value = static_cast<float>(emitter.attributes().get_real("value"));
  auto element =
      std::make_shared<const core::Literal>(core::Literal::floats({1}, std::span(&value, 1)));
  return emitter.finish("ConstantOfShape", {emitter.ints(emitter.attributes().get_ints("shape"))},
                        {{"value", core::LiteralPtr(std::move(element))}});
}

}  // namespace

std::vector<OpDefinition> constant_ops() {
  return {OpDefinition({
      .name = "full",
      .equation = "→ y[shape] = value",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"shape", AttributeKind::kInts, std::nullopt, {}},
              {"value", AttributeKind::kReal, std::nullopt, {0.0, 1.0}}},
      .inputs = std::pair<std::size_t, std::size_t>(0, 0),
      .op_class = OpClass::kMovement,
      .infer = infer_full,
      .semantics = full_semantics,
      .onnx = OnnxMapping{{reader("ConstantOfShape", Elements::kNumbers, read_constant_of_shape)},
                          write_full},
  })};
}

}  // namespace soapstone::ops
