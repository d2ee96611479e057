// `softmax` in three stages: maximum, sum of exponentials, quotient. Subtracting the maximum keeps
// exp within range and is part of the meaning.
#include "ops/family_parts.h"

#include "ops/indexing.h"
#include "ops/onnx_reading.h"
#include "ops/onnx_writing.h"

namespace soapstone::ops {
namespace {

std::vector<TensorType> infer_softmax(InferContext& c) {
  if (!require_elements(c, "softmax", Elements::kFloating)) return {};
  const auto axis = require_axis(c, "softmax", c.rank(0));
  if (!axis || !c.require_at_least(c.shape(0)[*axis], 1, "softmax.nonempty")) return {};
  return {c.input(0)};
}

Semantics softmax_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto rest = [&](const Index& i) { return without(i, std::span(&axis, 1)); };
  const auto with_axis = [&](Index i, const Polynomial& at) {
    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), at);
    return i;
  };
  const auto largest = builder.stage(rest(shape), [&](const Index& i) {
    return builder.max_over(shape[axis], [&](Polynomial a) { return read(0, with_axis(i, a)); });
  });
  const auto exponential = [&](const Index& i) {
    return apply(Function::kExp, {read(0, i) - read(largest, rest(i))});
  };
  const auto total = builder.stage(rest(shape), [&](const Index& i) {
    return builder.sum_over(shape[axis],
                            [&](Polynomial a) { return exponential(with_axis(i, a)); });
  });
  builder.output(shape,
                 [&](const Index& i) { return exponential(i) * inverse(read(total, rest(i))); });
  return std::move(builder).finish();
}

/// Before opset 13 the tensor is a matrix: rows up to `axis`, columns from it on.
ReadFunction read_softmax(bool logarithm) {
  return [logarithm](OnnxImport& import) -> ReadResult {
    Composer compose(import);
    const TensorId x = import.input(0);
    const core::Dims dims = compose.dims(x);
    const bool coerced = import.opset() < 13;
    SOAPSTONE_ASSIGN_OR_RETURN(
        std::int64_t axis,
        non_negative_axis(import, import.int_or("axis", coerced ? 1 : -1), dims.size()));
    TensorId y = x;
    if (coerced && axis + 1 != static_cast<std::int64_t>(dims.size())) {
      const core::Dims rows(dims.begin(), dims.begin() + axis);
      const core::Dims columns(dims.begin() + axis, dims.end());
      y = compose.reshape(x, {core::element_count(rows), core::element_count(columns)});
      axis = 1;
    }
    y = compose.append("softmax", {y}, {{"axis", Polynomial(axis)}});
    if (logarithm) y = compose.append("log", {y});
    return compose.finish(compose.reshape(y, dims));
  };
}

core::Status write_softmax(OnnxExport& out) {
  const std::int64_t axis = out.node().attributes.get_int("axis");
  out.emit_same("Softmax", {{"axis", axis}});
  return core::Done{};
}

}  // namespace

OpDefinition softmax() {
  return OpDefinition({
      .name = "softmax",
      .equation =
          "x[…] → y[…] = exp(x − m)/Σ exp(x − m), m and Σ over dimension axis, m the maximum",
      .attributes = std::vector{axis_attribute()},
      .inputs = std::pair<std::size_t, std::size_t>(1, 1),
      .op_class = OpClass::kNormalization,
      .infer = infer_softmax,
      .semantics = softmax_semantics,
      .onnx = OnnxMapping{{reader("Softmax", Elements::kFloating, read_softmax(false)),
                           reader("LogSoftmax", Elements::kFloating, read_softmax(true))},
                          write_softmax},
  });
}

}  // namespace soapstone::ops
