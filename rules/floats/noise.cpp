// See noise.h.
#include "rules/floats/noise.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "ops/definition/registry.h"
#include "rules/floats/stepwise_side.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {
namespace {

constexpr int kRuns = 8;
/// A side that compares what is rounded to one number is run so often: each order of the two must
/// come up.
constexpr int kRunsOfSaturated = 40;
/// Relative, of constants.
constexpr double kConstant = 0x1p-24;

/// By how much, relative, what is computed is moved; and which numbers have so few digits that sums
/// and products have them exactly: below `largest`, multiples of 1/scale.
struct Noise {
  double relative, scale, largest;
};
constexpr Noise kDoubleNoise{0x1p-46, 0x1p16, 0x1p40}, kSingleNoise{0x1p-18, 0x1p6, 0x1p12};

/// Whether the values of a function at very different numbers are rounded to one number.
enum class Saturation : std::uint8_t {
  kNone,
  kBounded,  ///< To 1 or −1.
  kVanishes  ///< To 0 or ∞ as well.
};

Saturation saturation_of(const ops::Expr& e) {
  using ops::Function;
  using enum Saturation;
  Saturation most = kNone;
  if (e->kind == ops::ExprKind::kApply) {
    if (e->function == Function::kTanh || e->function == Function::kErf) most = kBounded;
    if (e->function == Function::kExp || e->function == Function::kSigmoid) most = kVanishes;
  }
  for (const ops::Expr& argument : e->arguments) most = std::max(most, saturation_of(argument));
  return most;
}

/// By tensor: what the operator that computes it does.
std::vector<Saturation> saturations_of(const Graph& side) {
  std::vector<Saturation> found(side.tensor_bound(), Saturation::kNone);
  for (const NodeId id : side.order())
    for (const ops::Stage& stage : ops::semantics_of(side, id).stages)
      for (const TensorId output : side.node(id).outputs)
        found[output.index()] = std::max(found[output.index()], saturation_of(stage.body));
  return found;
}

/// A value of a function that saturates: a 1 may be a little less; a 0 may be a number that is too
/// small for doubles, ∞ one that is too large. Precondition: no input is infinite.
double unsaturated(double value, Saturation how, double by, Random& random) {
  constexpr double kTiny = 0x1p-1022, kHuge = 0x1p1023;
  const double part = random.unit();
  const bool stays = how == Saturation::kBounded || part < 0.5;
  if (value == 0) return stays ? value : kTiny * part;
  if (std::isinf(value)) return stays ? value : std::copysign(kHuge * part, value);
  return value * (1 + by * (2 * part - 1));
}

double moved(double value, double by, const Noise& noise, Random& random) {
  const double scaled = value * noise.scale;
  const bool exact = std::fabs(value) < noise.largest && scaled == std::floor(scaled);
  if (exact || !std::isfinite(value)) return value;
  return value * (1 + by * (2 * random.unit() - 1));
}

/// Values of the outputs, everything inexact moved. None: an operator does not admit what it was
/// given.
std::optional<std::vector<Tensor>> run_moved(const StepwiseSide& side, const Noise& noise,
                                             const std::vector<Saturation>& saturated,
                                             const std::vector<Tensor>& inputs, Random& random) {
  using Origin = StepwiseSide::Origin;
  bool is_all_finite = true;
  return side.run(inputs, [&](TensorId id, Origin origin, Tensor& tensor) {
    const bool is_exact = origin == Origin::kInput;
    if (origin != Origin::kResult)
      is_all_finite = is_all_finite && std::ranges::all_of(tensor, [](double value) {
                        return std::isfinite(value);
                      });
    if (is_exact || !core::is_floating(side.graph().tensor(id).type.data_type)) return;
    const double by = origin == Origin::kConstant ? kConstant : noise.relative;
    const Saturation how = is_all_finite ? saturated[id.index()] : Saturation::kNone;
    for (double& value : tensor)
      value = how == Saturation::kNone ? moved(value, by, noise, random)
                                       : unsaturated(value, how, by, random);
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

bool has_saturation(std::span<const Saturation> saturations) {
  return std::ranges::any_of(saturations, [](Saturation how) { return how != Saturation::kNone; });
}

}  // namespace

bool saturates(const Graph& side) { return has_saturation(saturations_of(side)); }

NoisyOutputs run_with_noise(const Graph& side, const std::vector<std::vector<double>>& inputs,
                            std::uint64_t seed, NoisePrecision precision) {
  const Noise& noise = precision == NoisePrecision::kDouble ? kDoubleNoise : kSingleNoise;
  const StepwiseSide stepwise(side);
  const std::vector<Saturation> saturated = saturations_of(side);
  Random random(seed);
  NoisyOutputs result;
  for (TensorId id : side.outputs())
    result.outputs.emplace_back(
        static_cast<std::size_t>(core::element_count(*core::concrete(side.tensor(id).type.shape))));
  const int runs = has_saturation(saturated) ? kRunsOfSaturated : kRuns;
  for (int run = 0; run < runs; ++run) {
    const auto outputs = run_moved(stepwise, noise, saturated, inputs, random);
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
  return source.finite && target.missing;
}

}  // namespace soapstone::rules
