// Convolutions by oneDNN: weights in the layout that the primitive chooses, data channels-last.
#include "cpu/primitives/contraction_kernel.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Layout;

/// A window that reads padding alone: it lies outside the image, or the image between two of its
/// taps. There oneDNN 2.6.3's brgconv applies post-ops to wrong memory
/// (tests/cpu/contraction_test.cpp finds it at once).
bool may_see_padding_only(const Window& window, const Dims& image, const Dims& weights) {
  const std::size_t rank = window.strides.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t last = (weights[weights.size() - rank + d] - 1) * (window.dilations[d] + 1);
    if (window.pads_begin[d] > last || window.pads_end[d] > last) return true;
    if (window.dilations[d] + 1 > image[image.size() - rank + d]) return true;
  }
  return false;
}

/// Of one channel in each group. oneDNN 2.6.3's kernels of integers for it give wrong sums where
/// groups are less than eight (AVX2), and are not faster than those of floats where they are more.
bool is_depthwise(const KernelRequest& request) {
  const std::int64_t group = request.attributes().get_int("group");
  const Dims weights = request.dims(request.head_input(1));
  return group > 1 && weights[0] == group && weights[1] == 1;
}

}  // namespace

Dims grouped(const Dims& weights, std::int64_t group) {
  if (group == 1) return weights;
  Dims result = {group, weights[0] / group};
  result.insert(result.end(), weights.begin() + 1, weights.end());
  return result;
}

Layout effective_layout(const core::TensorType& type, Layout layout) {
  const bool either = runtime::canonical(type, Layout::kChannelsLast) == Layout::kRowMajor;
  return either ? Layout::kChannelsLast : layout;
}

core::Result<std::unique_ptr<runtime::HostKernel>>
make_convolution_kernel(const KernelRequest& request) {
  if (request.op() != "conv") return not_mine();
  if (!request.all_floats()) return refuse("convolution: elements are not f32");
  if (!request.has_elements()) return refuse("convolution: an empty tensor");
  const TensorId source = request.head_input(0), weights = request.head_input(1);
  const TensorId head_bias = request.has_head_input(2) ? request.head_input(2) : TensorId::none();
  const Dims dims = request.dims(request.launch.outputs[0]);
  if (dims.size() > 5) return refuse("convolution: more than three spatial dimensions");
  const Layout source_layout = effective_layout(request.type(source), request.layout(source));
  const Layout layout = effective_layout(request.output_type(), request.output_layout());
  if (request.factors == core::DataType::kInt8 && is_depthwise(request))
    return refuse("convolution: int8, and one channel for each group");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    SOAPSTONE_ASSIGN_OR_RETURN(const Factors factors, Factors::make(request, weights, 0));
    const Epilogue epilogue(request, head_bias, dims, 1);
    dnnl::primitive_attr attributes = plain_attributes();
    attributes.set_post_ops(epilogue.steps());
    factors.scale_sums(attributes, 1);
    const Dims weight_dims = grouped(request.dims(weights), request.attributes().get_int("group"));
    std::optional<Descriptor> bias;
    if (epilogue.bias()) bias = describe({dims[1]}, Layout::kRowMajor);
    const Window window = window_of(request.attributes());
    const bool trips = epilogue.steps().len() > 0 &&
                       may_see_padding_only(window, request.dims(source), weight_dims);
    std::vector<std::string_view> avoided = factors.avoided();
    if (trips) avoided.emplace_back("brgconv");
    const Descriptor given = describe(request.dims(source), source_layout);
    const Contraction contraction{source,
                                  weights,
                                  given,
                                  describe(weight_dims, Layout::kRowMajor),
                                  bias,
                                  make_convolution(request.engine, factors.source(given),
                                                   factors.weights(describe_any(weight_dims)), bias,
                                                   describe(dims, layout), window, attributes,
                                                   avoided),
                                  factors};
    return make_contraction(request, contraction, epilogue);
  });
}

}  // namespace soapstone::cpu
