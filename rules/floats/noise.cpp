// See noise.h.
#include "rules/floats/noise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "rules/floats/stepwise_side.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {
namespace {

constexpr int kRuns = 8;
/// Relative, of constants.
constexpr double kConstant = 0x1p-24;

/// By how much, relative, what is computed is moved; and which numbers have so few digits that sums
/// and products have them exactly: below `largest`, multiples of 1/scale.
struct Noise {
  double relative, scale, largest;
};
constexpr Noise kDoubleNoise{0x1p-46, 0x1p16, 0x1p40}, kSingleNoise{0x1p-18, 0x1p6, 0x1p12};

double moved(double value, double by, const Noise& noise, Random& random) {
  const double scaled = value * noise.scale;
  const bool exact = std::fabs(value) < noise.largest && scaled == std::floor(scaled);
  if (exact || !std::isfinite(value)) return value;
  return value * (1 + by * (2 * random.unit() - 1));
}

/// Values of the outputs, everything inexact moved. None: an operator does not admit what it was
/// given.
std::optional<std::vector<Tensor>> run_moved(const StepwiseSide& side, const Noise& noise,
                                             const std::vector<Tensor>& inputs, Random& random) {
  using Origin = StepwiseSide::Origin;
  return side.run(inputs, [&](TensorId id, Origin origin, Tensor& tensor) {
    const bool is_exact = origin == Origin::kInput;
    if (is_exact || !core::is_floating(side.graph().tensor(id).type.data_type)) return;
    const double by = origin == Origin::kConstant ? kConstant : noise.relative;
    for (double& value : tensor) value = moved(value, by, noise, random);
  });
}

void add(double value, NoisyOutputs::Element& element) {
  if (!std::isfinite(value)) {
    element.finite = false;
    return;
  }
  element.least = element.missing ? value : std::min(element.least, value);
  element.most = element.missing ? value : std::max(element.most, value);
  element.missing = false;
}

}  // namespace

NoisyOutputs run_with_noise(const Graph& side, const std::vector<std::vector<double>>& inputs,
                            std::uint64_t seed, NoisePrecision precision) {
  const Noise& noise = precision == NoisePrecision::kDouble ? kDoubleNoise : kSingleNoise;
  const StepwiseSide stepwise(side);
  Random random(seed);
  NoisyOutputs result;
  for (TensorId id : side.outputs())
    result.outputs.emplace_back(
        static_cast<std::size_t>(core::element_count(*core::concrete(side.tensor(id).type.shape))));
  for (int run = 0; run < kRuns; ++run) {
    const auto outputs = run_moved(stepwise, noise, inputs, random);
    for (std::size_t k = 0; k < result.outputs.size(); ++k)
      for (std::size_t i = 0; i < result.outputs[k].size(); ++i)
        add(outputs ? (*outputs)[k][i] : std::nan(""), result.outputs[k][i]);
  }
  return result;
}

namespace {

/// A difference counts if it is so many times as large as what noise does.
constexpr double kMargin = 8;

}  // namespace

bool is_steady(const NoisyOutputs::Element& element, double difference) {
  return element.finite && kMargin * (element.most - element.least) < difference;
}

bool differ_beyond_noise(const NoisyOutputs::Element& source, const NoisyOutputs::Element& target) {
  if (source.finite && target.finite) {
    const double apart = std::max(source.least - target.most, target.least - source.most);
    const double spread = (source.most - source.least) + (target.most - target.least);
    return apart > kMargin * spread;
  }
  return (source.finite && target.missing) || (source.missing && target.finite);
}

}  // namespace soapstone::rules
