// `cumsum`: sums of all elements up to a position of one dimension.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

bool is_flag(std::int64_t value) { return value == 0 || value == 1; }

std::vector<TensorType> infer_cumsum(InferContext& c) {
  if (!require_elements(c, "cumsum", Elements::kArithmetic)) return {};
  const auto exclusive = require_int(c, "cumsum", "exclusive");
  const auto reverse = require_int(c, "cumsum", "reverse");
  if (!require_axis(c, "cumsum", c.rank(0)) || !exclusive || !reverse ||
      !c.require(is_flag(*exclusive) && is_flag(*reverse), "cumsum.flags",
                 "exclusive and reverse must be 0 or 1"))
    return {};
  return {c.input(0)};
}

/// The terms of the sum are those not behind the position, or those not before it.
Semantics cumsum_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const std::int64_t gap = op.attributes.get_int("exclusive");
  const bool reverse = op.attributes.get_int("reverse") != 0;
  builder.output(shape, [&](const Index& i) {
    const Binder term{builder.fresh(), 0, shape[axis]};
    Index element = i;
    element[axis] = term.variable;
    const Polynomial at = term.variable;
    return sum({term}, read(0, std::move(element)),
               {reverse ? at_least(at, i[axis] + gap) : at_least(i[axis], at + gap)});
  });
  return std::move(builder).finish();
}

ReadResult read_cumsum(OnnxImport& import) {
  const core::LiteralPtr literal = import.constant_input(1);
  const auto values = literal ? literal->to_ints() : std::nullopt;
  if (!values || values->size() != 1) return cannot_read(import, "the axis is not known");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, values->front(), input_dims(import, 0).size()));
  const std::int64_t exclusive = import.int_or("exclusive", 0),
                     reverse = import.int_or("reverse", 0);
  if (!is_flag(exclusive) || !is_flag(reverse))
    return bad_node(import, "exclusive and reverse must be 0 or 1");
  return import.append("cumsum", {import.input(0)},
                       {{"axis", Polynomial(axis)},
                        {"exclusive", Polynomial(exclusive)},
                        {"reverse", Polynomial(reverse)}});
}

core::Status write_cumsum(OnnxExport& out) {
  Emitter emitter(out);
  const Attributes& attributes = emitter.attributes();
  return emitter.finish(
      "CumSum", {emitter.input(0), emitter.integer(attributes.get_int("axis"))},
      {{"exclusive", attributes.get_int("exclusive")}, {"reverse", attributes.get_int("reverse")}});
}

core::AttributeSchema flag(const char* name) {
  return {name, AttributeRole::kFlag, Polynomial(0), {Polynomial(0), Polynomial(1)}};
}

}  // namespace

std::vector<OpDefinition> cumsum_ops() {
  return {OpDefinition({
      .name = "cumsum",
      .equation =
          "x[a…,s,b…] → y[a…,i,b…] = Σ over v ≤ i (exclusive: v < i; reverse: v ≥ i, v > i) "
          "of x[a…,v,b…]",
      .attributes =
          std::vector<core::AttributeSchema>{axis_attribute(), flag("exclusive"), flag("reverse")},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kReduction,
      .infer = infer_cumsum,
      .semantics = cumsum_semantics,
      .onnx = OnnxMapping{{reader("CumSum", Elements::kArithmetic, read_cumsum, 11)}, write_cumsum},
  })};
}

}  // namespace soapstone::ops
