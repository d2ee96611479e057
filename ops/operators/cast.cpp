// `cast`: the same numbers with elements of another type. Only to types whose values the language
// can name: not to narrow integers, which wrap.
#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_types.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;
using core::DataType;

std::vector<TensorType> infer_cast(InferContext& c) {
  const std::string& text = c.attributes().get_text("to");
  const auto to = core::parse_data_type(text);
  if (!require_elements(c, "cast", Elements::kNumbers) ||
      !c.require(to && (admits(Elements::kArithmetic, *to) || *to == DataType::kBool), "cast.to",
                 fmt::format("cannot cast to '{}'; narrow integers would wrap", text)))
    return {};
  return {{*to, c.shape(0)}};
}

/// Rounding to a narrower floating type is not part of the meaning, as nowhere else.
Semantics cast_semantics(const OpInstance& op) {
  const DataType to = op.outputs[0].data_type, from = op.inputs[0].data_type;
  SemanticsBuilder builder(1);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Expr x = read(0, i);
    if (to == DataType::kBool && from != DataType::kBool)
      return number(1.0) - apply(Function::kIsZero, {x});
    if (core::is_floating(from) && !core::is_floating(to)) return apply(Function::kTruncate, {x});
    return x;
  });
  return std::move(builder).finish();
}

ReadResult read_cast_to(OnnxImport& import, std::optional<DataType> to) {
  if (!to || !(admits(Elements::kArithmetic, *to) || *to == DataType::kBool))
    return cannot_read(import, "its target type");
  if (import.type(import.input(0)).data_type == *to) return std::vector{import.input(0)};
  return import.append("cast", {import.input(0)}, {{"to", std::string(core::to_string(*to))}});
}

ReadResult read_cast(OnnxImport& import) {
  return read_cast_to(import, from_onnx_type(import.int_or("to", 0)));
}

ReadResult read_cast_like(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "its second input is missing");
  return read_cast_to(import, import.type(import.input(1)).data_type);
}

core::Status write_cast(OnnxExport& out) {
  const auto to = core::parse_data_type(out.node().attributes.get_text("to"));
  out.emit_same("Cast", {{"to", to_onnx_type(*to)}});
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> cast_ops() {
  return {OpDefinition({
      .name = "cast",
      .equation = "x → x with elements of type to; to integers: toward zero; to bool: x ≠ 0",
      .attributes =
          std::vector<AttributeSchema>{{"to", AttributeRole::kElementType, std::nullopt, {"f32"}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kElementwise,
      .movement = Movement::kConvert,
      .infer = infer_cast,
      .semantics = cast_semantics,
      .onnx = OnnxMapping{{reader("Cast", Elements::kNumbers, read_cast),
                           reader("CastLike", Elements::kNumbers, read_cast_like, 15)},
                          write_cast},
  })};
}

}  // namespace soapstone::ops
