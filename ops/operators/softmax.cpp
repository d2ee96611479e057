// `softmax` and `log_softmax` in three stages: maximum, sum of exponentials, result. Subtracting
// the maximum keeps exp within range and is part of the meaning: the logarithm of a softmax is −∞
// where the softmax is below the smallest float, and log_softmax is not.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

struct Softmax {
  const char* name;
  const char* onnx;
  const char* equation;
  bool logarithm;
};

constexpr Softmax kSoftmaxes[] = {
    {"softmax", "Softmax",
     "x[…] → y[…] = exp(x − m)/Σ exp(x − m), m and Σ over dimension axis, m the maximum", false},
    {"log_softmax", "LogSoftmax",
     "x[…] → y[…] = x − m − log Σ exp(x − m), m and Σ over dimension axis, m the maximum", true},
};

std::vector<TensorType> infer(const Softmax& op, InferContext& c) {
  if (!require_elements(c, op.name, Elements::kFloating)) return {};
  const auto axis = require_axis(c, op.name, c.rank(0));
  if (!axis || !c.require_at_least(c.shape(0)[*axis], 1, label(op.name, "nonempty"))) return {};
  return {c.input(0)};
}

Semantics semantics(const Softmax& softmax, const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto rest = [&](const Index& i) { return without(i, std::span(&axis, 1)); };
  const auto with_axis = [&](Index i, const Polynomial& at) {
    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), at);
    return i;
  };
  const auto largest = builder.stage(rest(shape), [&](const Index& i) {
    return builder.max_over(shape[axis],
                            [&](const Polynomial& a) { return read(0, with_axis(i, a)); });
  });
  const auto centered = [&](const Index& i) { return read(0, i) - read(largest, rest(i)); };
  const auto total = builder.stage(rest(shape), [&](const Index& i) {
    return builder.sum_over(shape[axis], [&](const Polynomial& a) {
      return apply(Function::kExp, {centered(with_axis(i, a))});
    });
  });
  builder.output(shape, [&](const Index& i) {
    const Expr sum = read(total, rest(i));
    if (softmax.logarithm) return centered(i) - apply(Function::kLog, {sum});
    return apply(Function::kExp, {centered(i)}) * inverse(sum);
  });
  return std::move(builder).finish();
}

/// Before opset 13 the tensor is a matrix: rows up to `axis`, columns from it on.
ReadFunction reader_of(const Softmax& op) {
  return [&op](OnnxImport& import) -> ReadResult {
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
    y = compose.append(op.name, {y}, {{"axis", Polynomial(axis)}});
    return compose.finish(compose.reshape(y, dims));
  };
}

/// Before opset 13 only the last dimension means the same: another one changes places with it.
core::Status write(const Softmax& op, OnnxExport& out) {
  Emitter emitter(out);
  const std::int64_t axis = emitter.attributes().get_int("axis");
  const auto last = static_cast<std::int64_t>(emitter.dims(0).size()) - 1;
  if (emitter.opset() >= 13 || axis == last)
    return emitter.finish(op.onnx, {emitter.input(0)}, {{"axis", axis}});
  std::vector<std::int64_t> exchange;
  for (std::int64_t d = 0; d <= last; ++d)
    exchange.push_back(d == axis ? last : d == last ? axis : d);
  const std::string x = emitter.emit("Transpose", {emitter.input(0)}, {{"perm", exchange}});
  const std::string y = emitter.emit(op.onnx, {x}, {{"axis", last}});
  return emitter.finish("Transpose", {y}, {{"perm", exchange}});
}

OpDefinition define(const Softmax& op) {
  return OpDefinition({
      .name = op.name,
      .equation = op.equation,
      .attributes = std::vector{axis_attribute()},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kNormalization,
      .infer = [&op](InferContext& c) { return infer(op, c); },
      .semantics = [&op](const OpInstance& instance) { return semantics(op, instance); },
      .onnx = OnnxMapping{{reader(op.onnx, Elements::kFloating, reader_of(op))},
                          [&op](OnnxExport& out) { return write(op, out); }},
  });
}

}  // namespace

std::vector<OpDefinition> softmax_ops() {
  std::vector<OpDefinition> ops;
  for (const Softmax& op : kSoftmaxes) ops.push_back(define(op));
  return ops;
}

}  // namespace soapstone::ops
