// A discrete Fourier transform of a length that is known is linear with known coefficients: one
// contraction with a matrix of cosines and sines. A short-time transform is a convolution with
// them, times the window. Long ones stay opaque, since a matrix takes more work than a fast
// transform.
#include "ops/composites/onnx_transforms.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::Dims;
using core::LiteralPtr;

/// Of a matrix, or of a window.
constexpr std::int64_t kMostCoefficients = std::int64_t{1} << 21;
/// Of a signal, which have a letter each.
constexpr std::size_t kMostDimensions = 8;

/// What frequency k is made of: for complex numbers as pairs, or for real ones.
struct Transform {
  std::int64_t length = 0;   ///< Of the whole signal, zeros behind it included.
  std::int64_t samples = 0;  ///< Of those that are there.
  std::int64_t parts = 1;    ///< 2: real and imaginary parts of what is transformed.
  bool inverse = false, onesided = false;

  std::int64_t frequencies() const { return onesided ? length / 2 + 1 : length; }
  std::int64_t coefficients() const { return samples * parts * frequencies() * 2; }

  /// Of sample n's part in the real (0) or imaginary (1) part of frequency k.
  float coefficient(std::int64_t n, std::int64_t of_sample, std::int64_t k,
                    std::int64_t of_frequency) const {
    // k·n is taken modulo the length first, so that the angle is exact.
    const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % length) /
                         static_cast<double>(length) * (inverse ? 1 : -1);
    const double share = inverse ? 1 / static_cast<double>(length) : 1;
    if (of_sample == of_frequency) return static_cast<float>(share * std::cos(angle));
    return static_cast<float>(share * (of_frequency == 1 ? 1 : -1) * std::sin(angle));
  }
};

core::Result<std::optional<std::int64_t>> scalar_input(const OnnxImport& import, std::size_t k,
                                                       std::string_view name) {
  if (!has_input(import, k)) return std::optional<std::int64_t>();
  const LiteralPtr value = import.constant_input(k);
  if (!value || value->count() != 1)
    return cannot_read(import, fmt::format("{} is no constant number", name));
  return std::optional(static_cast<std::int64_t>(value->to_doubles()[0]));
}

core::Status require_float(const OnnxImport& import) {
  if (import.type(import.input(0)).data_type != DataType::kFloat32)
    return cannot_read(import, "its elements are no 32-bit floating-point numbers");
  return core::Done{};
}

core::Status require_small(const OnnxImport& import, const Transform& transform) {
  if (transform.coefficients() > kMostCoefficients)
    return cannot_read(import, fmt::format("a matrix of {} coefficients would be too much",
                                           transform.coefficients()));
  return core::Done{};
}

/// Where the signal lies, of a tensor whose last dimension has the parts of complex numbers.
core::Result<std::size_t> signal_axis(const OnnxImport& import, std::size_t rank) {
  std::int64_t axis = import.opset() < 20 ? import.int_or("axis", 1) : -2;
  if (import.opset() >= 20) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto given, scalar_input(import, 2, "axis"));
    axis = given.value_or(axis);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(axis, non_negative_axis(import, axis, rank));
  if (static_cast<std::size_t>(axis) + 1 == rank)
    return bad_node(import, "its axis is that of real and imaginary parts");
  return static_cast<std::size_t>(axis);
}

/// The signal's first samples alone.
TensorId truncated(Composer& compose, TensorId x, std::size_t axis, std::int64_t samples) {
  if (compose.dims(x)[axis] == samples) return x;
  return compose.slice(x, axis, 0, samples);
}

ReadResult read_dft(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(require_float(import));
  const Dims dims = input_dims(import, 0);
  if (dims.size() < 2) return bad_node(import, "its signal has no dimension for parts of numbers");
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t axis, signal_axis(import, dims.size()));
  if (dims.back() < 1 || dims.back() > 2)
    return bad_node(import, "its last dimension has one part of each number, or two");
  if (dims.size() > kMostDimensions)
    return cannot_read(import, fmt::format("more than {} dimensions", kMostDimensions));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto length, scalar_input(import, 1, "dft_length"));
  const Transform transform{.length = length.value_or(dims[axis]),
                            .samples = std::min(length.value_or(dims[axis]), dims[axis]),
                            .parts = dims.back(),
                            .inverse = import.int_or("inverse", 0) != 0,
                            .onesided = import.int_or("onesided", 0) != 0};
  if (transform.length < 1) return bad_node(import, "a transform of no length");
  if (transform.onesided && transform.inverse)
    return cannot_read(import, "a transform back from half of the frequencies");
  if (transform.onesided && transform.parts == 2)
    return cannot_read(import, "half of the frequencies of what is not real");
  if (core::element_count(dims) == 0) return cannot_read(import, "a signal of no elements");
  SOAPSTONE_RETURN_IF_ERROR(require_small(import, transform));
  std::vector<float> matrix;
  matrix.reserve(static_cast<std::size_t>(transform.coefficients()));
  for (std::int64_t n = 0; n < transform.samples; ++n)
    for (std::int64_t part = 0; part < transform.parts; ++part)
      for (std::int64_t k = 0; k < transform.frequencies(); ++k)
        for (const std::int64_t of : {0, 1})
          matrix.push_back(transform.coefficient(n, part, k, of));
  const Dims shape{transform.samples, transform.parts, transform.frequencies(), 2};
  // abc with the signal along b: abc,bcyz->ayz
  std::string signal, result;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    signal += static_cast<char>('a' + d);
    result += d == axis ? 'y' : d + 1 == dims.size() ? 'z' : signal.back();
  }
  Composer compose(import);
  const TensorId x = truncated(compose, import.input(0), axis, transform.samples);
  return compose.finish(compose.append(
      "einsum", {x, import.constant(core::Literal::floats(shape, matrix))},
      {{"equation", fmt::format("{},{}{}yz->{}", signal, signal[axis], signal.back(), result)}}));
}

/// Frames of a signal [batch, samples, parts] become [batch, frames, frequencies, 2].
ReadResult read_stft(OnnxImport& import) {
  SOAPSTONE_RETURN_IF_ERROR(require_float(import));
  Dims dims = input_dims(import, 0);
  if (dims.size() == 2) dims.push_back(1);
  if (dims.size() != 3 || dims[2] < 1 || dims[2] > 2)
    return bad_node(import, "its signal is [batch, samples, 1] or [batch, samples, 2]");
  SOAPSTONE_ASSIGN_OR_RETURN(const auto step, scalar_input(import, 1, "frame_step"));
  SOAPSTONE_ASSIGN_OR_RETURN(auto length, scalar_input(import, 3, "frame_length"));
  const bool has_window = has_input(import, 2);
  if (has_window) {
    const Dims window = input_dims(import, 2);
    if (window.size() != 1 || (length && *length != window[0]))
      return cannot_read(import, "its window is not as long as a frame");
    length = window[0];
  }
  if (!step || !length) return bad_node(import, "it has no length or step of its frames");
  if (*step < 1 || *length < 1 || *length > dims[1])
    return bad_node(import, fmt::format("frames of {} samples, {} apart", *length, *step));
  const Transform transform{.length = *length,
                            .samples = *length,
                            .parts = dims[2],
                            .onesided = import.int_or("onesided", 1) != 0};
  if (transform.onesided && transform.parts == 2)
    return cannot_read(import, "half of the frequencies of what is not real");
  SOAPSTONE_RETURN_IF_ERROR(require_small(import, transform));
  std::vector<float> kernel;
  kernel.reserve(static_cast<std::size_t>(transform.coefficients()));
  for (const std::int64_t of : {0, 1})
    for (std::int64_t k = 0; k < transform.frequencies(); ++k)
      for (std::int64_t part = 0; part < transform.parts; ++part)
        for (std::int64_t n = 0; n < *length; ++n)
          kernel.push_back(transform.coefficient(n, part, k, of));
  Composer compose(import);
  TensorId weight = import.constant(
      core::Literal::floats({2 * transform.frequencies(), transform.parts, *length}, kernel));
  if (has_window)
    weight = compose.append("mul", {weight, compose.reshape(import.input(2), {1, 1, *length})});
  TensorId signal = compose.reshape(import.input(0), dims);
  signal = dims[2] == 1 ? compose.reshape(signal, {dims[0], 1, dims[1]})
                        : compose.transpose(signal, {0, 2, 1});
  const TensorId frames = compose.append("conv", {signal, weight},
                                         {{"strides", to_sizes(Dims{*step})},
                                          {"pads", to_sizes(Dims{0, 0})},
                                          {"dilations", to_sizes(Dims{1})}});
  const std::int64_t count = (dims[1] - *length) / *step + 1;
  return compose.finish(compose.transpose(
      compose.reshape(frames, {dims[0], 2, transform.frequencies(), count}), {0, 3, 2, 1}));
}

/// constant + cosine·cos(angle). Blackman's window, which has one more cosine, stays opaque: its
/// ends are zeros that runtimes round to different numbers.
ReadFunction window_of(double constant, double cosine) {
  return [constant, cosine](OnnxImport& import) -> ReadResult {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto size, scalar_input(import, 0, "size"));
    constexpr std::int64_t kFloat = 1;  // TensorProto's number
    if (!size || *size < 1 || *size > kMostCoefficients)
      return cannot_read(import, "its size is not known, or too large");
    if (import.int_or("output_datatype", kFloat) != kFloat)
      return cannot_read(import, "its elements are no 32-bit floating-point numbers");
    const bool periodic = import.int_or("periodic", 1) != 0;
    if (!periodic && *size == 1) return cannot_read(import, "a symmetric window of one sample");
    const double period = static_cast<double>(periodic ? *size : *size - 1);
    std::vector<float> window;
    for (std::int64_t n = 0; n < *size; ++n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
      window.push_back(static_cast<float>(constant + cosine * std::cos(angle)));
    }
    return std::vector{import.constant(core::Literal::floats({*size}, window))};
  };
}

}  // namespace

std::vector<OnnxReader> transform_readers() {
  // ONNX's reference implementation has Hamming's coefficients as 25/46 and 21/46.
  return {reader("DFT", Elements::kFloating, read_dft, 17),
          reader("STFT", Elements::kFloating, read_stft, 17),
          reader("HannWindow", Elements::kNumbers, window_of(0.5, -0.5), 17),
          reader("HammingWindow", Elements::kNumbers, window_of(25.0 / 46, -21.0 / 46), 17)};
}

}  // namespace soapstone::ops
