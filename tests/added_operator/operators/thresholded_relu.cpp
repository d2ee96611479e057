// An operator that the library does not have, as CONTRIBUTING.md says to add one: in ops/operators
// this file would be all that is needed.
#include "ops/definition/infer_rules.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

std::vector<TensorType> infer_thresholded_relu(InferContext& c) {
  if (!require_elements(c, "thresholded_relu", Elements::kFloating) ||
      !require_representable(c, "thresholded_relu", "alpha"))
    return {};
  return {c.input(0)};
}

Semantics thresholded_relu_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Expr threshold = number(op.attributes.get_real("alpha"));
  builder.output(op.outputs[0].shape, [&](const std::vector<Polynomial>& i) {
    const Expr above = apply(Function::kLess, {threshold, read(0, i)});
    return apply(Function::kSelect, {above, read(0, i), number(0.0)});
  });
  return std::move(builder).finish();
}

ReadResult read_thresholded_relu(OnnxImport& import) {
  return import.append("thresholded_relu", {import.input(0)},
                       {{"alpha", import.real_or("alpha", 1.0)}});
}

core::Status write_thresholded_relu(OnnxExport& out) {
  if (out.opset() < 10) return cannot_write(out, "ThresholdedRelu needs opset 10");
  const double alpha = out.node().attributes.get_real("alpha");
  out.emit_same("ThresholdedRelu", {{"alpha", static_cast<float>(alpha)}});
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> thresholded_relu_ops() {
  return {OpDefinition({
      .name = "thresholded_relu",
      .equation = "x → x where x > alpha, else 0",
      .attributes =
          std::vector<core::AttributeSchema>{{"alpha", core::AttributeRole::kReal, 1.0, {1.0}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kElementwise,
      .infer = infer_thresholded_relu,
      .semantics = thresholded_relu_semantics,
      .onnx =
          OnnxMapping{{reader("ThresholdedRelu", Elements::kFloating, read_thresholded_relu, 10)},
                      write_thresholded_relu},
  })};
}

}  // namespace soapstone::ops
