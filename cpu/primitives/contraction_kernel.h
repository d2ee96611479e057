// The common part of convolution and matmul kernels: weights packed for the primitive, bias,
// epilogue.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/base/bound_primitive.h"
#include "cpu/base/kernel_request.h"
#include "cpu/base/nan_watch.h"
#include "cpu/primitives/epilogue.h"
#include "cpu/primitives/factors.h"
#include "cpu/primitives/quantizer.h"

namespace soapstone::cpu {

/// A source and weights, as they lie, and which primitive contracts them.
struct Contraction {
  core::TensorId source, weights;
  /// How they are given; the primitive may want another layout, or rounded elements.
  Descriptor source_descriptor, weights_descriptor;
  std::optional<Descriptor> bias;  ///< The descriptor of Epilogue::bias().
  Primitive primitive;
  Factors factors = {};
};

/// The residual that a convolution's or matmul's kernel overwrites with its result, if there is one
/// and the kernel can; known from the launch alone.
std::optional<std::size_t> contraction_in_place_input(const core::Graph& graph,
                                                      const runtime::Launch& launch);

/// Strides, dilations and pads of a convolution's or a transposed convolution's attributes.
Window window_of(const core::Attributes& attributes);

/// A convolution's weights, [o, i, k…], as oneDNN has them: [g, o/g, i, k…] if there are groups.
core::Dims grouped(const core::Dims& weights, std::int64_t group);

/// oneDNN only takes data for channels-last whose strides say so, also where it is the same bytes.
runtime::Layout effective_layout(const core::TensorType& type, runtime::Layout layout);

/// Its kernel. Throws dnnl::error. Errors: a refusal.
core::Result<std::unique_ptr<runtime::HostKernel>> make_contraction(const KernelRequest& request,
                                                                    const Contraction& contraction,
                                                                    const Epilogue& epilogue);

class ContractionKernel final : public runtime::HostKernel {
 public:
  ContractionKernel(const KernelRequest& request, const Contraction& contraction,
                    const Epilogue& epilogue);
  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override;
  std::size_t scratch_bytes() const override;
  std::optional<std::size_t> in_place_input() const override { return in_place_; }
  std::string implementation() const override;
  /// Finds the kernel for sources that have no integers. Errors: a refusal.
  core::Status add_exact(const KernelRequest& request);
  bool may_have_lost_nan() const override {
    return watch_.found() || (exact_ != nullptr && exact_->may_have_lost_nan());
  }

 private:
  struct Argument {
    std::size_t argument, input;
  };
  void add_source(const KernelRequest& request, const Contraction& contraction);
  void add_weights(const KernelRequest& request, const Contraction& contraction);

  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  BoundPrimitive primitive_;
  std::vector<Argument> arguments_;  // that come from inputs as they are
  Argument source_;
  // How the source comes to be as the primitive wants it; neither: it comes so.
  std::optional<Reorder> to_source_;
  std::optional<SourceQuantizer> quantizer_;
  std::size_t destination_;
  // Weights: packed once, or given at run time and packed each time if need be.
  std::shared_ptr<const std::byte> packed_;
  std::size_t weights_argument_ = 0, weights_input_ = 0;
  std::optional<Reorder> repack_;
  // The residual: the result is added to what lies in the destination.
  std::optional<std::size_t> residual_, in_place_;
  std::size_t output_bytes_;
  /// The residual is an argument, which the primitive must not overwrite before it was read.
  bool saves_residual_ = false;
  std::string_view mark_;
  std::unique_ptr<runtime::HostKernel> exact_;  // of integers only
  NanWatch watch_;
};

}  // namespace soapstone::cpu
