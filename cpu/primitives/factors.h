// In which form a contraction's factors are multiplied: as they come, rounded to bf16, or as
// integers of 8 bits with scales.
#pragma once

#include <string_view>
#include <vector>

#include "cpu/base/bound_primitive.h"
#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {

/// Of integers: sources are unsigned, with a scale and zero point that come with each run; weights
/// are constants, with a scale for each channel of the result.
class Factors {
 public:
  Factors() = default;  ///< As they come.
  /// `axis`: the dimension of the weights, as the graph has them, along which the result's channels
  /// lie. Errors: a refusal, of weights that have no integers.
  static core::Result<Factors> make(const KernelRequest& request, core::TensorId weights,
                                    std::size_t axis);

  bool quantized() const { return type_ == core::DataType::kInt8; }
  /// A source, or weights, as the primitive is to multiply them.
  Descriptor source(const Descriptor& given) const;
  Descriptor weights(const Descriptor& given) const;
  /// Lets a primitive turn sums of integers into what they stand for, but for the source's scale.
  /// `dimension`: that of the result's channels.
  void scale_sums(dnnl::primitive_attr& attributes, int dimension) const;
  /// oneDNN's implementations that do not multiply them rightly, or that nobody has tried.
  std::vector<std::string_view> avoided() const;
  /// The integers of the weights, in their order. oneDNN's own conversions do not know the scales
  /// of channels in all layouts.
  std::vector<std::byte> integers(const core::Literal& weights) const;
  /// What the names of kernels begin with: "bf16 factors, ".
  std::string_view mark() const;

 private:
  explicit Factors(core::DataType type) : type_(type) {}

  core::DataType type_ = core::DataType::kFloat32;
  // Of channels, which lie `inner_` elements apart; for integers only.
  std::vector<float> scales_;
  std::size_t inner_ = 1;
};

}  // namespace soapstone::cpu
