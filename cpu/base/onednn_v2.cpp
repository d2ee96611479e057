// See onednn_v2.h. Version 2: an operation descriptor goes into a primitive descriptor.
#include "cpu/base/onednn_v2.h"

#include <algorithm>

namespace soapstone::cpu {
namespace {

using dnnl::primitive_attr;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

template <class PrimitiveType, class PrimitiveDescriptor>
Primitive finish(const PrimitiveDescriptor& description) {
  return {PrimitiveType(description), description.src_desc(),        description.weights_desc(),
          description.dst_desc(),     description.scratchpad_desc(), description.impl_info_str()};
}

/// Goes on to the first implementation that is not avoided.
template <class PrimitiveDescriptor>
void pass_over(PrimitiveDescriptor& description, Avoided avoided) {
  const auto is_avoided = [&](std::string_view part) {
    return std::string_view(description.impl_info_str()).find(part) != std::string_view::npos;
  };
  while (std::ranges::any_of(avoided, is_avoided)) {
    if (!description.next_impl())
      throw dnnl::error(dnnl_unimplemented, "no implementation but those that are avoided");
  }
}

/// To be kept as long as descriptions made of it look for other implementations.
dnnl::convolution_forward::desc operation_of(dnnl::algorithm algorithm, const Descriptor& source,
                                             const Descriptor& weights,
                                             const std::optional<Descriptor>& bias,
                                             const Descriptor& destination, const Window& window) {
  using Operation = dnnl::convolution_forward::desc;
  if (!bias)
    return Operation(kInference, algorithm, source, weights, destination, window.strides,
                     window.dilations, window.pads_begin, window.pads_end);
  return Operation(kInference, algorithm, source, weights, *bias, destination, window.strides,
                   window.dilations, window.pads_begin, window.pads_end);
}

/// Calls `make` with the description of a gradient of a convolution, after which nothing looks for
/// other implementations. Descriptions choose kernels that fit those of the forward pass.
template <class Gradient, class Make>
Primitive describe_gradient(const dnnl::engine& engine, const Descriptor& image,
                            const Descriptor& filters, const Descriptor& result,
                            const Window& window, const primitive_attr& attributes, Avoided avoided,
                            const Make& make) {
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, kDirect, image, filters, result, window.strides,
       window.dilations, window.pads_begin, window.pads_end},
      engine);
  const typename Gradient::desc operation(kDirect, image, filters, result, window.strides,
                                          window.dilations, window.pads_begin, window.pads_end);
  typename Gradient::primitive_desc description(operation, attributes, engine, forward);
  pass_over(description, avoided);
  return make(description);
}

}  // namespace

Descriptor with_type(const Descriptor& tensor, dnnl::memory::data_type type) {
  Descriptor result = tensor;
  result.data.data_type = dnnl::memory::convert_to_c(type);
  return result;
}

void set_integer_sums(primitive_attr& attributes, int mask, const std::vector<float>& scales) {
  attributes.set_output_scales(mask, scales);
  attributes.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
}

Primitive make_convolution(const dnnl::engine& engine, const Descriptor& source,
                           const Descriptor& weights, const std::optional<Descriptor>& bias,
                           const Descriptor& destination, const Window& window,
                           const primitive_attr& attributes, Avoided avoided) {
  const auto operation =
      operation_of(dnnl::algorithm::convolution_direct, source, weights, bias, destination, window);
  dnnl::convolution_forward::primitive_desc description(operation, attributes, engine);
  pass_over(description, avoided);
  return finish<dnnl::convolution_forward>(description);
}

Primitive make_winograd(const dnnl::engine& engine, const Descriptor& source,
                        const Descriptor& weights, const std::optional<Descriptor>& bias,
                        const Descriptor& destination, const Window& window,
                        const primitive_attr& attributes) {
  const auto operation = operation_of(dnnl::algorithm::convolution_winograd, source, weights, bias,
                                      destination, window);
  return finish<dnnl::convolution_forward>(
      dnnl::convolution_forward::primitive_desc(operation, attributes, engine));
}

Primitive make_image_gradient(const dnnl::engine& engine, const Descriptor& image,
                              const Descriptor& filters, const Descriptor& result,
                              const Window& window, const primitive_attr& attributes,
                              Avoided avoided) {
  using Gradient = dnnl::convolution_backward_data;
  return describe_gradient<Gradient>(engine, image, filters, result, window, attributes, avoided,
                                     [](const Gradient::primitive_desc& d) -> Primitive {
                                       return {Gradient(d),         d.diff_src_desc(),
                                               d.weights_desc(),    d.diff_dst_desc(),
                                               d.scratchpad_desc(), d.impl_info_str()};
                                     });
}

Primitive make_filter_gradient(const dnnl::engine& engine, const Descriptor& image,
                               const Descriptor& filters, const Descriptor& result,
                               const Window& window, const primitive_attr& attributes,
                               Avoided avoided) {
  using Gradient = dnnl::convolution_backward_weights;
  return describe_gradient<Gradient>(engine, image, filters, result, window, attributes, avoided,
                                     [](const Gradient::primitive_desc& d) -> Primitive {
                                       return {Gradient(d),           d.src_desc(),
                                               d.diff_weights_desc(), d.diff_dst_desc(),
                                               d.scratchpad_desc(),   d.impl_info_str()};
                                     });
}

Primitive make_deconvolution(const dnnl::engine& engine, const Descriptor& source,
                             const Descriptor& weights, const std::optional<Descriptor>& bias,
                             const Descriptor& destination, const Window& window,
                             const primitive_attr& attributes) {
  using Forward = dnnl::deconvolution_forward;
  const auto direct = dnnl::algorithm::deconvolution_direct;
  const Forward::desc operation =
      bias ? Forward::desc(kInference, direct, source, weights, *bias, destination, window.strides,
                           window.dilations, window.pads_begin, window.pads_end)
           : Forward::desc(kInference, direct, source, weights, destination, window.strides,
                           window.dilations, window.pads_begin, window.pads_end);
  return finish<Forward>(Forward::primitive_desc(operation, attributes, engine));
}

Primitive make_matmul(const dnnl::engine& engine, const Descriptor& source,
                      const Descriptor& weights, const std::optional<Descriptor>& bias,
                      const Descriptor& destination, const primitive_attr& attributes,
                      Avoided avoided) {
  const dnnl::matmul::desc operation = bias
                                           ? dnnl::matmul::desc(source, weights, *bias, destination)
                                           : dnnl::matmul::desc(source, weights, destination);
  dnnl::matmul::primitive_desc description(operation, attributes, engine);
  pass_over(description, avoided);
  return finish<dnnl::matmul>(description);
}

Primitive make_pooling(const dnnl::engine& engine, Pooling kind, const Descriptor& source,
                       const Descriptor& destination, const dnnl::memory::dims& kernel,
                       const Window& window, const primitive_attr& attributes) {
  using Forward = dnnl::pooling_v2_forward;
  const auto algorithm = kind == Pooling::kMax       ? dnnl::algorithm::pooling_max
                         : kind == Pooling::kAverage ? dnnl::algorithm::pooling_avg_exclude_padding
                                                     : dnnl::algorithm::pooling_avg_include_padding;
  const Forward::desc operation(kInference, algorithm, source, destination, window.strides, kernel,
                                window.dilations, window.pads_begin, window.pads_end);
  return finish<Forward>(Forward::primitive_desc(operation, attributes, engine));
}

Primitive make_layer_norm(const dnnl::engine& engine, const Descriptor& tensor, float epsilon,
                          bool has_shift, const primitive_attr& attributes) {
  using Forward = dnnl::layer_normalization_forward;
  const auto scale = dnnl::normalization_flags::use_scale;
  const auto flags = has_shift ? scale | dnnl::normalization_flags::use_shift : scale;
  return finish<Forward>(Forward::primitive_desc(Forward::desc(kInference, tensor, epsilon, flags),
                                                 attributes, engine));
}

Primitive make_reorder(const dnnl::engine& engine, const Descriptor& from, const Descriptor& to,
                       const primitive_attr& attributes) {
  const dnnl::reorder::primitive_desc description(engine, from, engine, to, attributes);
  return finish<dnnl::reorder>(description);
}

void append_function(dnnl::post_ops& steps, dnnl::algorithm function, float alpha, float beta) {
  steps.append_eltwise(1.0f, function, alpha, beta);
}

}  // namespace soapstone::cpu
