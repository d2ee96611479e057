// See factors.h.
#include "cpu/primitives/factors.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace soapstone::cpu {
namespace {

using core::DataType;

/// The largest integer of a weight. Instructions that only some processors have add products to 32
/// bits at once. The others add two of them in 16 bits and saturate: 2 · 255 · 64 is the most that
/// fits.
int largest_weight() {
  switch (dnnl::get_effective_cpu_isa()) {
  case dnnl::cpu_isa::avx512_core_vnni:
  case dnnl::cpu_isa::avx512_core_bf16:
  case dnnl::cpu_isa::avx512_core_amx:
    return 127;
  default:
    return 64;
  }
}

std::span<const float> floats_of(const core::Literal& literal) {
  return {reinterpret_cast<const float*>(literal.bytes().data()),
          literal.bytes().size() / sizeof(float)};
}

/// None: an element is NaN or infinite.
std::optional<std::vector<float>> largest_of_channels(std::span<const float> weights,
                                                      std::size_t channels, std::size_t inner) {
  std::vector<float> largest(channels);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i])) return std::nullopt;
    float& channel = largest[i / inner % channels];
    channel = std::max(channel, std::fabs(weights[i]));
  }
  return largest;
}

core::Result<std::vector<float>> scales_of(const core::LiteralPtr& literal, std::size_t axis) {
  if (!literal) return refuse("int8: the weights are not known");
  const core::Dims& dims = literal->dims();
  const auto channels = static_cast<std::size_t>(dims[axis]);
  const auto inner = static_cast<std::size_t>(product(dims, axis + 1, dims.size()));
  const std::span<const float> weights = floats_of(*literal);
  const int largest = largest_weight();
  // A sum of this many products fits into 32 bits whatever they are.
  const std::size_t most_terms = 0x7fffffffU / (255U * static_cast<unsigned>(largest));
  if (weights.size() / channels > most_terms) return refuse("int8: sums of too many products");
  auto scales = largest_of_channels(weights, channels, inner);
  if (!scales) return refuse("int8: a weight is NaN or infinite");
  for (float& scale : *scales) {
    if (scale == 0) scale = 1;
    scale /= static_cast<float>(largest);
    // Sums of integers times the scale are ordinary floats then.
    if (scale < 0x1p-90F || scale > 0x1p90F) return refuse("int8: a scale is too large or small");
  }
  return *std::move(scales);
}

}  // namespace

core::Result<Factors> Factors::make(const KernelRequest& request, core::TensorId weights,
                                    std::size_t axis) {
  Factors factors(request.factors);
  if (factors.quantized()) {
    SOAPSTONE_ASSIGN_OR_RETURN(factors.scales_, scales_of(request.constant(weights), axis));
    const core::Dims dims = request.dims(weights);
    factors.inner_ = static_cast<std::size_t>(product(dims, axis + 1, dims.size()));
  }
  return factors;
}

Descriptor Factors::source(const Descriptor& given) const {
  if (quantized()) return with_type(given, dnnl::memory::data_type::u8);
  return type_ == DataType::kBFloat16 ? with_type(given, dnnl::memory::data_type::bf16) : given;
}

Descriptor Factors::weights(const Descriptor& given) const {
  if (quantized()) return with_type(given, dnnl::memory::data_type::s8);
  return type_ == DataType::kBFloat16 ? with_type(given, dnnl::memory::data_type::bf16) : given;
}

void Factors::scale_sums(dnnl::primitive_attr& attributes, int dimension) const {
  if (quantized()) set_integer_sums(attributes, 1 << dimension, scales_);
}

std::vector<std::string_view> Factors::avoided() const {
  if (!quantized()) return {};
  // Convolutions by oneDNN 2.6.3's product of matrices, which stand behind all others on AVX-512:
  // numbers that belong to channels are those of others, and weights whose sums the zero point
  // needs may come without them. For AMX, no processor was at hand.
  return {"gemm_s8u8s32", "amx"};
}

std::vector<std::byte> Factors::integers(const core::Literal& weights) const {
  const std::span<const float> floats = floats_of(weights);
  const float largest = static_cast<float>(largest_weight());
  std::vector<std::byte> result(floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const float integer = std::nearbyint(floats[i] / scales_[i / inner_ % scales_.size()]);
    result[i] =
        static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(integer, -largest, largest)));
  }
  return result;
}

std::string_view Factors::mark() const {
  if (quantized()) return "int8 factors, ";
  return type_ == DataType::kBFloat16 ? "bf16 factors, " : "";
}

}  // namespace soapstone::cpu
