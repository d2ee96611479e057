// Floats as integers of 8 bits: x ≈ scale · (q − zero point), with one scale for a whole tensor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soapstone::cpu {

/// Quantizes tensors of one size to 0 … 255, each with the scale and zero point that its own
/// elements ask for. Zero is exact, so that the padding of a convolution is.
class SourceQuantizer {
 public:
  explicit SourceQuantizer(std::size_t count, int threads) : count_(count), threads_(threads) {}

  /// Chooses scale and zero point. False: an element is NaN or infinite, and has no integer.
  bool measure(const float* source);
  /// As chosen last: every element is off by at most half of the scale.
  void quantize(const float* source, std::uint8_t* quantized) const;

  /// Where they lie stays the same as long as the quantizer does.
  const float* scale() const { return &scale_; }
  const std::int32_t* zero_point() const { return &zero_point_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  int threads_;
  float scale_ = 1;
  std::int32_t zero_point_ = 0;
};

}  // namespace soapstone::cpu
