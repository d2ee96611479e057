// Pooling by oneDNN, in the layout in which the data lies. Its maxima pass over NaN and know
// nothing below the least finite number; where there is such an element, the comprehension is
// asked.
#include <algorithm>
#include <limits>

#include "cpu/base/vector_clones.h"
#include "cpu/primitives/primitive_kernel.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

struct PoolWindow {
  Dims kernel;
  Window window;
  bool overhangs = false;  ///< Reaches beyond the padding, as ceil_mode admits.
  bool padded = false;
};

/// oneDNN computes sizes with ⌊ ⌋: where ours were computed with ⌈ ⌉, the padding is made larger.
PoolWindow window_of(const core::Attributes& attributes, const Dims& from, const Dims& to) {
  PoolWindow result;
  result.kernel = attributes.get_ints("kernel");
  Window& window = result.window;
  window.strides = attributes.get_ints("strides");
  const std::vector<std::int64_t> pads = attributes.get_ints("pads");
  const std::vector<std::int64_t> dilations = attributes.get_ints("dilations");
  const std::size_t rank = result.kernel.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = (result.kernel[d] - 1) * dilations[d] + 1;
    const std::int64_t needed =
        (to[d + 2] - 1) * window.strides[d] + extent - from[d + 2] - pads[d];
    window.dilations.push_back(dilations[d] - 1);
    window.pads_begin.push_back(pads[d]);
    window.pads_end.push_back(std::max(pads[d + rank], needed));
    result.overhangs = result.overhangs || needed > pads[d + rank];
    result.padded = result.padded || pads[d] != 0 || window.pads_end[d] != 0;
  }
  return result;
}

/// NaN or −∞.
SOAPSTONE_VECTOR_CLONES bool has_special(const float* x, std::size_t count) {
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) found |= !(x[i] >= std::numeric_limits<float>::lowest());
  return found;
}

class MaxPoolKernel final : public runtime::HostKernel {
 public:
  MaxPoolKernel(const KernelRequest& request, std::unique_ptr<runtime::HostKernel> fast,
                std::unique_ptr<runtime::HostKernel> exact)
      : inputs_(request), fast_(std::move(fast)), exact_(std::move(exact)),
        count_(static_cast<std::size_t>(core::element_count(request.dims(request.head_input(0))))) {
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    const auto* x = reinterpret_cast<const float*>(inputs_.find(0, inputs));
    return (has_special(x, count_) ? exact_ : fast_)->run(inputs, outputs, scratch);
  }
  std::size_t scratch_bytes() const override {
    return std::max(fast_->scratch_bytes(), exact_->scratch_bytes());
  }
  std::string implementation() const override { return fast_->implementation(); }

 private:
  Inputs inputs_;
  std::unique_ptr<runtime::HostKernel> fast_, exact_;
  std::size_t count_;
};

core::Result<std::unique_ptr<runtime::HostKernel>> make_pool_launch(const KernelRequest& request) {
  const core::TensorId source = request.head_input(0), result = request.launch.outputs[0];
  const Dims from = request.dims(source), to = request.dims(result);
  const core::Attributes& attributes = request.attributes();
  const PoolWindow pool = window_of(attributes, from, to);
  Pooling kind = Pooling::kMax;
  if (request.op() == "average_pool") {
    const bool count_padding = attributes.get_int("count_include_pad") != 0;
    if (count_padding && pool.overhangs)
      return refuse("pooling: oneDNN counts the overhang of ceil_mode as padding");
    kind = count_padding || !pool.padded ? Pooling::kAverageWithPadding : Pooling::kAverage;
  }
  // A tensor whose layouts are all the same bytes takes the one of the other side.
  const runtime::Layout layout = std::max(request.layout(source), request.output_layout());
  std::unique_ptr<runtime::HostKernel> kernel = std::make_unique<PrimitiveKernel>(
      request, make_pooling(request.engine, kind, describe(from, layout), describe(to, layout),
                            pool.kernel, pool.window, plain_attributes()));
  if (kind != Pooling::kMax) return kernel;
  SOAPSTONE_ASSIGN_OR_RETURN(auto exact,
                             runtime::compile_reference(request.graph, request.launch,
                                                        request.layouts, request.constants));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<MaxPoolKernel>(request, std::move(kernel), std::move(exact)));
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>> make_pool_kernel(const KernelRequest& request) {
  if (request.op() != "max_pool" && request.op() != "average_pool") return not_mine();
  if (!request.all_floats()) return refuse("pooling: elements are not f32");
  if (!request.has_elements()) return refuse("pooling: an empty tensor");
  if (request.dims(request.head_input(0)).size() > 5)
    return refuse("pooling: more than three spatial dimensions");
  if (!request.launch.epilogue.empty()) return refuse("pooling: has no epilogue");
  const core::TensorType& from = request.type(request.head_input(0));
  const auto given = request.layout(request.head_input(0)), wanted = request.output_layout();
  if (given != wanted && runtime::canonical(from, wanted) != given &&
      runtime::canonical(request.output_type(), given) != wanted)
    return refuse("pooling: the layout changes");
  return guarded([&] { return make_pool_launch(request); });
}

}  // namespace soapstone::cpu
