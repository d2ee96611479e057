// Gradients of convolutions by oneDNN, data channels-last.
#include "core/base/check.h"
#include "cpu/base/bound_primitive.h"
#include "cpu/base/threads.h"
#include "cpu/primitives/contraction_kernel.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Layout;

enum class By : std::uint8_t { kImage, kFilters };

/// A tensor that the primitive has in an order of its own, which may be padded.
class Reordered {
 public:
  /// `own`: which of the two is the primitive's.
  Reordered(const KernelRequest& request, const Descriptor& from, const Descriptor& to,
            const Descriptor& own) {
    if (from != to) reorder_.emplace(request.engine, from, to);
    bytes_ = reorder_ ? aligned(own.get_size()) : 0;
  }
  bool is_needed() const { return reorder_.has_value(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t scratch_bytes() const { return reorder_ ? reorder_->scratch_bytes() : 0; }
  void run(const void* from, void* to, const dnnl::stream& stream, std::byte* scratch) {
    reorder_->run(from, to, stream, scratch);
  }

 private:
  std::optional<Reorder> reorder_;
  std::size_t bytes_ = 0;
};

/// Scratch holds the filters as the primitive wants them, then what it or the reorder works in.
class ConvolutionGradient final : public runtime::HostKernel {
 public:
  /// `other`: what the cotangent of the result is multiplied with, the filters or the image.
  /// `filters`: as they are given, or asked for.
  ConvolutionGradient(const KernelRequest& request, By by, TensorId other, TensorId cotangent,
                      const Descriptor& filters, Primitive primitive)
      : stream_(request.stream), threads_(request.threads), by_(by), inputs_(request),
        other_(request.number(other)), cotangent_(request.number(cotangent)),
        filters_(by == By::kImage
                     ? Reordered(request, filters, primitive.weights, primitive.weights)
                     : Reordered(request, primitive.weights, filters, primitive.weights)),
        primitive_(request.engine, std::move(primitive)),
        image_argument_(
            primitive_.add(by == By::kImage ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, parts().source)),
        filters_argument_(primitive_.add(
            by == By::kImage ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, parts().weights)),
        cotangent_argument_(primitive_.add(DNNL_ARG_DIFF_DST, parts().destination)) {}

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    use_threads(threads_);
    const std::byte* const other = inputs_.find(other_, inputs);
    std::byte* const working = scratch + filters_.bytes();
    const void* filters = by_ == By::kImage ? other : outputs[0];
    if (filters_.is_needed()) {
      if (by_ == By::kImage) filters_.run(other, scratch, stream_, working);
      filters = scratch;
    }
    primitive_.set(image_argument_, by_ == By::kImage ? outputs[0] : other);
    primitive_.set(filters_argument_, filters);
    primitive_.set(cotangent_argument_, inputs_.find(cotangent_, inputs));
    primitive_.run(stream_, working);
    if (by_ == By::kFilters && filters_.is_needed())
      filters_.run(scratch, outputs[0], stream_, working);
    return core::Done{};
  }

  std::size_t scratch_bytes() const override {
    return filters_.bytes() + std::max(filters_.scratch_bytes(), primitive_.scratch_bytes());
  }
  std::string implementation() const override { return primitive_.implementation(); }

 private:
  const Primitive& parts() const { return primitive_.primitive(); }

  const dnnl::stream& stream_;
  int threads_;
  By by_;
  Inputs inputs_;
  std::size_t other_, cotangent_;
  Reordered filters_;
  BoundPrimitive primitive_;
  std::size_t image_argument_, filters_argument_, cotangent_argument_;
};

/// oneDNN 2.6.3's kernels for filters of one element write behind their scratch memory where they
/// take every other pixel of images whose channels do not fill a vector.
bool may_overrun(const Window& window, const Dims& image, const Dims& filters) {
  constexpr std::int64_t kLanes = 16;
  const bool is_strided =
      std::ranges::any_of(window.strides, [](std::int64_t stride) { return stride > 1; });
  const bool is_one = std::all_of(filters.end() - std::ssize(window.strides), filters.end(),
                                  [](std::int64_t size) { return size == 1; });
  return is_strided && is_one && image[1] % kLanes != 0;
}

/// The layout, as oneDNN's kernels know it.
Descriptor described(const KernelRequest& request, TensorId tensor, Layout layout) {
  return describe(request.dims(tensor), effective_layout(request.type(tensor), layout));
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_convolution_gradient(const KernelRequest& request) {
  if (request.op() != ops::gradient_name("conv")) return not_mine();
  if (!request.all_floats()) return refuse("gradient of a convolution: elements are not f32");
  if (!request.has_elements()) return refuse("gradient of a convolution: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("gradient of a convolution: has no epilogue");
  const auto forward = ops::gradient_of(request.graph, request.launch.head);
  CHECK(forward.has_value(), "the gradient of a convolution");
  if (forward->input > 1) return refuse("gradient of a convolution: by its bias");
  const By by = forward->input == 0 ? By::kImage : By::kFilters;
  const TensorId result = request.launch.outputs[0], cotangent = request.head().inputs.back(),
                 other = request.head_input(by == By::kImage ? 1 : 0);
  const TensorId image = by == By::kImage ? result : other,
                 filters = by == By::kImage ? other : result;
  if (request.dims(image).size() > 5)
    return refuse("gradient of a convolution: more than three spatial dimensions");
  const Dims filter_dims = grouped(request.dims(filters), request.attributes().get_int("group"));
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    const Descriptor any = describe_any(filter_dims);
    const Window window = window_of(request.attributes());
    std::vector<std::string_view> avoided;
    if (may_overrun(window, request.dims(image), filter_dims)) avoided.emplace_back("1x1");
    const Descriptor pixels = described(
        request, image, by == By::kImage ? request.output_layout() : request.layout(image));
    const Descriptor slopes = described(request, cotangent, request.layout(cotangent));
    Primitive primitive = by == By::kImage
                              ? make_image_gradient(request.engine, pixels, any, slopes, window,
                                                    plain_attributes(), avoided)
                              : make_filter_gradient(request.engine, pixels, any, slopes, window,
                                                     plain_attributes(), avoided);
    return std::unique_ptr<runtime::HostKernel>(std::make_unique<ConvolutionGradient>(
        request, by, other, cotangent, describe(filter_dims, Layout::kRowMajor),
        std::move(primitive)));
  });
}

}  // namespace soapstone::cpu
