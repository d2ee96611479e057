// Operators that tell what is no finite number: `is_nan` and `is_inf`. They are functions of their
// own, as a proof over real numbers would take a comparison of x with itself for true.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::DataType;

/// ∞ alone or −∞ alone is what is infinite on one side of 0.
ReadResult read_is_inf(OnnxImport& import) {
  const bool negative = import.int_or("detect_negative", 1) != 0;
  const bool positive = import.int_or("detect_positive", 1) != 0;
  Composer compose(import);
  const TensorId x = import.input(0);
  if (!negative && !positive)
    return cannot_read(import, "it looks for neither of the two infinities");
  const TensorId any = compose.append("is_inf", {x});
  if (negative && positive) return compose.finish(any);
  const TensorId zero = compose.scalar(compose.data_type(x), 0);
  const TensorId side =
      positive ? compose.append("less", {zero, x}) : compose.append("less", {x, zero});
  return compose.finish(compose.append("mul", {any, side}));
}

/// ONNX has IsNaN since opset 9, of bf16 since 13, and IsInf since 10, of halves since 20.
core::Status write_test(OnnxExport& out, const char* op_type, int since) {
  const DataType type = out.graph().tensor(out.node().inputs[0]).type.data_type;
  const bool is_nan = since == 9;
  if (type == DataType::kBFloat16) since = is_nan ? 13 : 20;
  if (type == DataType::kFloat16 && !is_nan) since = 20;
  if (out.opset() < since)
    return cannot_write(out, "it has no such operator for elements of this type");
  out.emit_same(op_type);
  return core::Done{};
}

OpDefinition define(const char* name, const char* equation, Function function, const char* onnx,
                    int since, ReadFunction read) {
  return OpDefinition({
      .name = name,
      .equation = equation,
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kElementwise,
      .infer = [name](InferContext& c) -> std::vector<TensorType> {
        if (!require_elements(c, name, Elements::kFloating)) return {};
        return {{DataType::kBool, c.shape(0)}};
      },
      .semantics =
          [function](const OpInstance& op) {
            SemanticsBuilder builder(1);
            builder.output(op.outputs[0].shape, [&](const Index& i) {
              return apply(function, {soapstone::ops::read(0, i)});
            });
            return std::move(builder).finish();
          },
      .onnx = OnnxMapping{{reader(onnx, Elements::kFloating, std::move(read), since)},
                          [onnx, since](OnnxExport& out) { return write_test(out, onnx, since); }},
  });
}

}  // namespace

std::vector<OpDefinition> special_values_ops() {
  return {define("is_nan", "x → 1 if x is not a number, else 0", Function::kIsNan, "IsNaN", 9,
                 read_same("is_nan")),
          define("is_inf", "x → 1 if x is ∞ or −∞, else 0", Function::kIsInfinite, "IsInf", 10,
                 read_is_inf)};
}

}  // namespace soapstone::ops
