// The part of oneDNN's interface that changed between versions 2 and 3: how descriptions of
// primitives are put together. Everything else of oneDNN that we use is the same in both, so a
// port to version 3 is a port of this file. All functions throw dnnl::error.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace soapstone::cpu {

using Descriptor = dnnl::memory::desc;

/// The same tensor, lying the same way, with elements of another type.
Descriptor with_type(const Descriptor& tensor, dnnl::memory::data_type type);

/// Sums of a u8 source, whose zero point comes with each run, and s8 weights: each is multiplied by
/// the scale of its channel. `mask`: the dimensions of the result that count channels.
void set_integer_sums(dnnl::primitive_attr& attributes, int mask, const std::vector<float>& scales);
/// The argument that is the zero point: one s32.
constexpr int kSourceZeroPoint = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;

/// A primitive, and how it wants the tensors that were described as `any`.
struct Primitive {
  dnnl::primitive primitive;
  Descriptor source, weights, destination, scratchpad;
  std::string implementation;  ///< "brgconv:avx512_core"
};

/// Padding and dilation as oneDNN counts them: dilation 0 is a dense kernel.
struct Window {
  dnnl::memory::dims strides, dilations, pads_begin, pads_end;
};

/// Implementations with one of these in their names are passed over.
using Avoided = std::span<const std::string_view>;
Primitive make_convolution(const dnnl::engine& engine, const Descriptor& source,
                           const Descriptor& weights, const std::optional<Descriptor>& bias,
                           const Descriptor& destination, const Window& window,
                           const dnnl::primitive_attr& attributes, Avoided avoided);
/// By Winograd's algorithm, which takes fewer multiplications for small windows and rounds
/// differently; not for all windows and steps behind them.
Primitive make_winograd(const dnnl::engine& engine, const Descriptor& source,
                        const Descriptor& weights, const std::optional<Descriptor>& bias,
                        const Descriptor& destination, const Window& window,
                        const dnnl::primitive_attr& attributes);
/// The cotangent of a convolution's image, Primitive::source, or of its filters,
/// Primitive::weights, from that of its result, Primitive::destination.
Primitive make_image_gradient(const dnnl::engine& engine, const Descriptor& image,
                              const Descriptor& filters, const Descriptor& result,
                              const Window& window, const dnnl::primitive_attr& attributes,
                              Avoided avoided);
Primitive make_filter_gradient(const dnnl::engine& engine, const Descriptor& image,
                               const Descriptor& filters, const Descriptor& result,
                               const Window& window, const dnnl::primitive_attr& attributes,
                               Avoided avoided);
/// Weights are [g,] o, i, k…, as of a convolution that turns i channels into o.
Primitive make_deconvolution(const dnnl::engine& engine, const Descriptor& source,
                             const Descriptor& weights, const std::optional<Descriptor>& bias,
                             const Descriptor& destination, const Window& window,
                             const dnnl::primitive_attr& attributes);
Primitive make_matmul(const dnnl::engine& engine, const Descriptor& source,
                      const Descriptor& weights, const std::optional<Descriptor>& bias,
                      const Descriptor& destination, const dnnl::primitive_attr& attributes,
                      Avoided avoided = {});

enum class Pooling : std::uint8_t { kMax, kAverageWithPadding, kAverage };
Primitive make_pooling(const dnnl::engine& engine, Pooling kind, const Descriptor& source,
                       const Descriptor& destination, const dnnl::memory::dims& kernel,
                       const Window& window, const dnnl::primitive_attr& attributes);
/// Over the last dimension, with DNNL_ARG_SCALE, and DNNL_ARG_SHIFT if `has_shift`.
Primitive make_layer_norm(const dnnl::engine& engine, const Descriptor& tensor, float epsilon,
                          bool has_shift, const dnnl::primitive_attr& attributes);
Primitive make_reorder(const dnnl::engine& engine, const Descriptor& from, const Descriptor& to,
                       const dnnl::primitive_attr& attributes);

/// Appends y = f(x) to what a primitive does to its result.
void append_function(dnnl::post_ops& steps, dnnl::algorithm function, float alpha, float beta);

}  // namespace soapstone::cpu
