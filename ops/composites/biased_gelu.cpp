// `biased_gelu`: a bias and gelu behind a linear layer, which ONNX Runtime has as one kernel for
// each of gelu's forms.
#include "ops/composites/composite_operators.h"

namespace soapstone::ops {
namespace {

std::vector<TensorId> expand_biased_gelu(Expansion& e) {
  const TensorId sum = e.append("add", {e.input(0), e.input(1)});
  return {e.append("gelu", {sum}, {{"approximate", e.attributes().get_text("approximate")}})};
}

void check_biased_gelu(InferContext& c) {
  if (!require_one_type(c, "biased_gelu", Elements::kFloating) ||
      !c.require(c.rank(0) >= 1, "biased_gelu.rank", "x must have a dimension") ||
      !c.require_rank(1, 1, "biased_gelu.bias_rank"))
    return;
  c.require_equal(c.shape(1)[0], c.shape(0).back(), "biased_gelu.bias");
}

/// FastGelu may come without a bias.
ReadFunction read_biased(const char* approximate) {
  return [approximate](OnnxImport& import) -> ReadResult {
    const Attributes form{{"approximate", std::string(approximate)}};
    if (!has_input(import, 1)) {
      if (std::string_view(approximate) == "none") return bad_node(import, "its bias is missing");
      return import.append("gelu", {import.input(0)}, form);
    }
    const core::Dims dims = input_dims(import, 0);
    if (dims.empty()) return cannot_read(import, "a single number");
    SOAPSTONE_RETURN_IF_ERROR(require_dims(import, 1, {dims.back()}));
    return read_expanded(import, expand_biased_gelu, {import.input(0), import.input(1)}, form);
  };
}

core::Status write_biased_gelu(OnnxExport& out) {
  Emitter emitter(out);
  const bool exact = emitter.attributes().get_text("approximate") == "none";
  return write_contrib(out, exact ? "BiasGelu" : "FastGelu", {emitter.input(0), emitter.input(1)});
}

}  // namespace

OpDefinition biased_gelu_op() {
  return composite({
      .name = "biased_gelu",
      .equation = "x[…,n] bias[n] → gelu(x + bias)",
      .attributes =
          std::vector<core::AttributeSchema>{{"approximate",
                                              core::AttributeRole::kVariant,
                                              std::string("none"),
                                              {std::string("none"), std::string("tanh")}}},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kElementwise,
      .check = check_biased_gelu,
      .expand = expand_biased_gelu,
      .onnx = OnnxMapping{{contrib_reader("BiasGelu", Elements::kFloating, read_biased("none")),
                           contrib_reader("FastGelu", Elements::kFloating, read_biased("tanh"))},
                          write_biased_gelu},
  });
}

}  // namespace soapstone::ops
