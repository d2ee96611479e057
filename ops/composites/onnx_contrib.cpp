// See onnx_contrib.h. ONNX Runtime writes these operators into models that it, or its optimizer of
// transformers, has optimized.
#include "ops/composites/onnx_contrib.h"

#include "ops/composites/composite.h"
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

/// A function behind a convolution or a matrix product, and what its parameters are called.
struct Activation {
  const char* onnx;
  const char* op;
  std::vector<const char*> parameters;  ///< Of ours, in the order in which ONNX Runtime has them.
};

const std::vector<Activation>& activations() {
  static const std::vector<Activation> kActivations = {
      {"Relu", "relu", {}},
      {"Tanh", "tanh", {}},
      {"Sigmoid", "sigmoid", {}},
      {"LeakyRelu", "leaky_relu", {"alpha"}},
      {"Clip", "clip", {"min", "max"}},
      {"HardSigmoid", "hard_sigmoid", {"alpha", "beta"}},
  };
  return kActivations;
}

core::Result<TensorId> activated(OnnxImport& import, TensorId x,
                                 const std::vector<float>& parameters) {
  const std::string name = import.text_or("activation", "");
  for (const Activation& activation : activations()) {
    if (name != activation.onnx) continue;
    if (parameters.size() != activation.parameters.size())
      return bad_node(import, "the function has another number of parameters");
    Attributes attributes;
    for (std::size_t k = 0; k < activation.parameters.size(); ++k)
      attributes.set(activation.parameters[k], shortest_decimal(parameters[k]));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto results,
                               import.append(activation.op, {x}, std::move(attributes)));
    return results[0];
  }
  return cannot_read(import, "the function " + name);
}

/// The convolution of ONNX, a summand of its shape, a function.
ReadResult read_fused_conv(OnnxImport& import) {
  const OnnxReader& conv = registry().definition("conv")->onnx.readers.front();
  SOAPSTONE_ASSIGN_OR_RETURN(auto results, conv.read(import));
  TensorId y = results[0];
  if (has_input(import, 3)) {
    SOAPSTONE_RETURN_IF_ERROR(require_dims(import, 3, Composer(import).dims(y)));
    SOAPSTONE_ASSIGN_OR_RETURN(results, import.append("add", {y, import.input(3)}, {}));
    y = results[0];
  }
  if (!import.attribute("activation")) return results;
  const OnnxAttribute* given = import.attribute("activation_params");
  const auto* parameters = given ? std::get_if<std::vector<float>>(given) : nullptr;
  SOAPSTONE_ASSIGN_OR_RETURN(y,
                             activated(import, y, parameters ? *parameters : std::vector<float>()));
  return std::vector{y};
}

ReadResult read_fused_gemm(OnnxImport& import, const ReadFunction& read_gemm) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto results, read_gemm(import));
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!import.attribute(name)) break;
    parameters.push_back(static_cast<float>(import.real_or(name, 0)));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const TensorId y, activated(import, results[0], parameters));
  return std::vector{y};
}

ReadResult read_exact_gelu(OnnxImport& import) {
  if (import.input_count() > 1 || import.attribute("approximate"))
    return cannot_read(import, "an input or an attribute that it does not have");
  return import.append("gelu", {import.input(0)}, {{"approximate", std::string("none")}});
}

/// In ONNX's own domain, though ONNX has no such operator.
ReadResult read_simplified_layer_norm(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "its scale is missing");
  if (import.output_count() > 1) return cannot_read(import, "its statistics as outputs");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", -1), input_dims(import, 0).size()));
  return import.append(
      "rms_norm", {import.input(0), import.input(1)},
      {{"axis", Polynomial(axis)}, {"epsilon", decimal_or(import, "epsilon", 1e-5)}});
}

}  // namespace

std::vector<OnnxReader> contrib_readers(const ReadFunction& read_gemm) {
  constexpr auto kF = Elements::kFloating;
  const auto fused_gemm = [read_gemm](OnnxImport& import) {
    return read_fused_gemm(import, read_gemm);
  };
  return {
      contrib_reader("FusedConv", kF, read_fused_conv),
      contrib_reader("FusedGemm", kF, fused_gemm),
      contrib_reader("Gelu", kF, read_exact_gelu),
      reader("SimplifiedLayerNormalization", kF, read_simplified_layer_norm),
  };
}

}  // namespace soapstone::ops
