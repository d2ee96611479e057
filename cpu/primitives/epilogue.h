// The steps behind a convolution or matmul as oneDNN knows them: a bias, and a list of post-ops.
#pragma once

#include <optional>
#include <vector>

#include "cpu/base/bound_primitive.h"
#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {

/// The oneDNN function of a unary operator, with its parameters. None: oneDNN has no such function.
struct EltwiseFunction {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
std::optional<EltwiseFunction> eltwise_function(const core::Node& node);
/// The lowest level of fusion at which a function is a step of an epilogue; none: at no level. By
/// operator name alone; cheap. Where there is a level, eltwise_function() answers.
std::optional<runtime::Fusion> epilogue_level(std::string_view op);
/// Whether oneDNN computes x·f(x) for this f.
bool has_gate(const core::Node& function);
/// True if the launch has a residual that oneDNN adds onto what lies where the result will; known
/// from the launch alone. A product of matrices is computed by plain loops if it is to do so behind
/// other steps; there the residual is read as any operand is.
bool sums_onto_residual(const core::Graph& graph, const runtime::Launch& launch);
/// True if a step computes a function: where that meets NaN, oneDNN may give a number (relu, clip).
bool may_lose_nan(const runtime::Launch& launch);
/// True if oneDNN 2.6.3 computes both in one epilogue: both are activations or gates, or one is
/// neither. It gives the parameters of the first to all functions of one algorithm.
bool may_share_epilogue(const core::Graph& graph, const runtime::EpilogueStep& a,
                        const runtime::EpilogueStep& b);
/// True if oneDNN 2.6.3 may take a number of the step for that of another channel: in convolutions
/// of three dimensions, which it may compute by products of matrices, but for their bias.
bool may_mistake_channels(const core::Graph& graph, const runtime::Launch& so_far,
                          const runtime::EpilogueStep& step);

class Epilogue {
 public:
  /// `head_bias`: the bias that the head has already, or none. `channel_axis`: the dimension of
  /// the result that biases follow. Shapes: results and residuals are `dims`, which may differ
  /// from the graph's by merged leading dimensions.
  Epilogue(const KernelRequest& request, core::TensorId head_bias, const core::Dims& dims,
           std::size_t channel_axis);

  /// The tensor [channels] that the primitive adds itself: to sums that are not of integers.
  std::optional<core::TensorId> bias() const { return bias_; }
  /// A number that sums of integers are multiplied by before anything else: the source's scale.
  static Descriptor scale(std::size_t rank) {
    return describe(core::Dims(rank, 1), runtime::Layout::kRowMajor);
  }
  static constexpr int kScale = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
  const dnnl::post_ops& steps() const { return steps_; }
  /// Number (in Launch::inputs) of the tensor onto which the result is added; it must lie where
  /// the result will. None: there is no residual, or it is among operands().
  std::optional<std::size_t> residual() const { return residual_; }
  struct Operand {
    int argument;
    Descriptor descriptor;
    std::size_t input;  ///< Number in Launch::inputs.
  };
  const std::vector<Operand>& operands() const { return operands_; }

 private:
  void add_binary(const KernelRequest& request, const runtime::EpilogueStep& step);
  void add_operand(dnnl::algorithm algorithm, const core::Dims& dims, std::size_t input);
  void add_function(const core::Node& node);
  void add_gate(const core::Node& function);

  core::Dims dims_;
  std::size_t channel_axis_;
  std::optional<core::TensorId> bias_;
  dnnl::post_ops steps_;
  std::optional<std::size_t> residual_;
  std::vector<Operand> operands_;
};

}  // namespace soapstone::cpu
