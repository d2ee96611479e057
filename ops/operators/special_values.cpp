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

struct Test {
  const char* name;
  const char* onnx;
  const char* equation;
  Function function;
  int since;  ///< The first opset that has it.
  ReadFunction read;
};

/// ONNX has IsNaN of bf16 since opset 13, and IsInf of halves since opset 20.
core::Status write_test(OnnxExport& out, const Test& test) {
  const DataType type = out.graph().tensor(out.node().inputs[0]).type.data_type;
  const bool is_nan = test.function == Function::kIsNan;
  int since = test.since;
  if (type == DataType::kBFloat16) since = is_nan ? 13 : 20;
  if (type == DataType::kFloat16 && !is_nan) since = 20;
  if (out.opset() < since)
    return cannot_write(out, "it has no such operator for elements of this type");
  out.emit_same(test.onnx);
  return core::Done{};
}

OpDefinition define(const Test& test) {
  return OpDefinition({
      .name = test.name,
      .equation = test.equation,
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kElementwise,
      .infer = [name = test.name](InferContext& c) -> std::vector<TensorType> {
        if (!require_elements(c, name, Elements::kFloating)) return {};
        return {{DataType::kBool, c.shape(0)}};
      },
      .semantics =
          [function = test.function](const OpInstance& op) {
            SemanticsBuilder builder(1);
            builder.output(op.outputs[0].shape, [&](const Index& i) {
              return apply(function, {soapstone::ops::read(0, i)});
            });
            return std::move(builder).finish();
          },
      .onnx = OnnxMapping{{reader(test.onnx, Elements::kFloating, test.read, test.since)},
                          [test](OnnxExport& out) { return write_test(out, test); }},
  });
}

}  // namespace

std::vector<OpDefinition> special_values_ops() {
  const std::vector<Test> tests = {
      {"is_nan", "IsNaN", "x → 1 if x is not a number, else 0", Function::kIsNan, 9,
       read_same("is_nan")},
      {"is_inf", "IsInf", "x → 1 if x is ∞ or −∞, else 0", Function::kIsInfinite, 10, read_is_inf}};
  std::vector<OpDefinition> ops;
  for (const Test& test : tests) ops.push_back(define(test));
  return ops;
}

}  // namespace soapstone::ops
