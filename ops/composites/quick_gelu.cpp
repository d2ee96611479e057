// `quick_gelu`: x·sigmoid(alpha·x). With alpha = 1 it is SiLU, with 1.702 nearly gelu.
#include "ops/composites/composite_operators.h"

namespace soapstone::ops {
namespace {

constexpr double kUsualAlpha = 1.702;

std::vector<TensorId> expand_quick_gelu(Expansion& e) {
  const TensorId x = e.input(0);
  const TensorId inner = scaled(e, x, e.attributes().get_real("alpha"));
  return {e.append("mul", {x, e.append("sigmoid", {inner})})};
}

void check_quick_gelu(InferContext& c) {
  require_elements(c, "quick_gelu", Elements::kFloating) &&
      require_representable(c, "quick_gelu", "alpha");
}

ReadResult read_quick_gelu(OnnxImport& import) {
  const double alpha = decimal_or(import, "alpha", kUsualAlpha);
  if (!is_representable(alpha)) return cannot_read(import, "alpha is out of range");
  return read_expanded(import, expand_quick_gelu, {import.input(0)}, {{"alpha", alpha}});
}

core::Status write_quick_gelu(OnnxExport& out) {
  Emitter emitter(out);
  const auto alpha = static_cast<float>(emitter.attributes().get_real("alpha"));
  return write_contrib(out, "QuickGelu", {emitter.input(0)}, {{"alpha", alpha}});
}

}  // namespace

OpDefinition quick_gelu_op() {
  return composite({
      .name = "quick_gelu",
      .equation = "x → x/(1 + exp(−alpha·x))",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"alpha", core::AttributeRole::kReal, kUsualAlpha, {kUsualAlpha, 1.0}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kElementwise,
      .check = check_quick_gelu,
      .expand = expand_quick_gelu,
      .onnx = OnnxMapping{{contrib_reader("QuickGelu", Elements::kFloating, read_quick_gelu)},
                          write_quick_gelu},
  });
}

}  // namespace soapstone::ops
