// ONNX's Trilu: the part of each matrix on one side of a diagonal. It only moves elements, and its
// number of the diagonal is a plain integer.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

std::vector<TensorType> infer_trilu(InferContext& c) {
  if (!require_elements(c, "trilu", Elements::kNumbers) ||
      !c.require(c.rank(0) >= 2, "trilu.rank", "the input must hold matrices"))
    return {};
  return {c.input(0)};
}

Semantics trilu_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const bool upper = op.attributes.get_int("upper") != 0;
  const Polynomial& diagonal = op.attributes.get_size("diagonal");
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    const Polynomial number_of = i[i.size() - 1] - i[i.size() - 2];
    return guard({upper ? at_least(number_of, diagonal) : at_least(diagonal, number_of)},
                 read(0, i));
  });
  return std::move(builder).finish();
}

ReadResult read_trilu(OnnxImport& import) {
  std::int64_t diagonal = 0;
  if (has_input(import, 1)) {
    const core::LiteralPtr given = import.constant_input(1);
    const auto values = given ? given->to_ints() : std::nullopt;
    if (!values || values->size() != 1) return cannot_read(import, "its diagonal is no constant");
    diagonal = values->front();
  }
  return import.append(
      "trilu", {import.input(0)},
      {{"upper", Polynomial(import.int_or("upper", 1))}, {"diagonal", Polynomial(diagonal)}});
}

core::Status write_trilu(OnnxExport& out) {
  if (out.opset() < 14) return cannot_write(out, "Trilu needs opset 14");
  Emitter emitter(out);
  return emitter.finish(
      "Trilu", {emitter.input(0), emitter.integer(emitter.attributes().get_int("diagonal"))},
      {{"upper", emitter.attributes().get_int("upper")}});
}

}  // namespace

std::vector<OpDefinition> trilu_ops() {
  return {OpDefinition({
      .name = "trilu",
      .equation = "x[…,i,j] → y[…,i,j] = x where j − i ≥ diagonal (upper) or ≤ diagonal, else 0",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"upper", AttributeRole::kFlag, Polynomial(1), {Polynomial(0), Polynomial(1)}},
              {"diagonal", AttributeRole::kInteger, Polynomial(0), {Polynomial(0)}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .infer = infer_trilu,
      .semantics = trilu_semantics,
      .onnx = OnnxMapping{{reader("Trilu", Elements::kNumbers, read_trilu, 14)}, write_trilu},
  })};
}

}  // namespace soapstone::ops
