// See float_behavior.h.
#include "rules/floats/float_behavior.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/valid_values.h"
#include "rules/floats/noise.h"
#include "rules/floats/rounded_side.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {
namespace {

using Tensors = std::vector<Tensor>;

struct Inputs {
  double magnitude;
  bool positive;
  bool integers = false;  ///< Few of them, so that some are equal; not 0, which has a sign.
};
/// Large enough for exp to overflow in f32, too small for a polynomial of small degree to do so.
constexpr double kLarge = 200;
/// The largest are there to get beyond bounds such as those of a clip.
constexpr Inputs kInputs[] = {{1, false},      {1, true},    {0.01, false}, {4, false, true},
                              {kLarge, false}, {1e7, false}, {1e13, false}};
/// Integers may be beyond such bounds too.
constexpr std::int64_t kLargestInputInteger = 9;

double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

Tensors draw_inputs(const Graph& side, const Inputs& wanted, Random& random) {
  Tensors inputs;
  const auto valid = ops::valid_values(side);
  for (TensorId id : side.inputs()) {
    const core::TensorType& type = side.tensor(id).type;
    const auto count = static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
    Tensor values(count);
    for (double& v : values) {
      const double low = wanted.positive ? 0.1 : -1;
      v = rounded(wanted.magnitude * (low + (1 - low) * random.unit()));
      if (wanted.integers) v = std::round(v) == 0 ? 1 : std::round(v);
      if (type.data_type == core::DataType::kBool)
        v = static_cast<double>(random.between(0, 1));
      else if (const auto& range = valid[id.index()]; range && range->low < range->high)
        v = static_cast<double>(random.between(range->low, range->high - 1));
      else if (!core::is_floating(type.data_type))
        v = static_cast<double>(random.between(-kLargestInputInteger, kLargestInputInteger));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

double largest(const Tensor& values) {
  double most = 0;
  for (double v : values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

/// Beyond the square root of the largest double.
constexpr double kNearOverflow = 1e150;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool both_finite(double a, double b) { return std::isfinite(a) && std::isfinite(b); }

void compare_rounded(const Tensor& source, const Tensor& target, FloatObservation& seen) {
  for (std::size_t i = 0; i < source.size(); ++i)
    if (!same(source[i], target[i]))
      seen.behavior = std::max(seen.behavior, FloatBehavior::kReassociates);
}

/// Looks for differences between runs in doubles. An overflow that only the target has, as exp(1/x)
/// has for small x, changes the range. A target that has a value where the source has none extends
/// the range. Large inputs are left to the rounded runs. A difference that rounding the largest
/// number on the way can cause does not count.
void find_difference(const Tensor& source, const Tensor& target, std::size_t output,
                     double magnitude, double largest_seen, FloatObservation& seen) {
  const double tolerance =
      std::max(1e-7 * std::max(largest(source), largest(target)), 1e-13 * largest_seen);
  for (std::size_t i = 0; i < source.size() && !seen.difference; ++i) {
    const double a = source[i], b = target[i];
    const bool finite = both_finite(a, b);
    if (same(a, b) || (finite && std::fabs(a - b) <= tolerance)) continue;
    if (!std::isfinite(a)) {
      if (std::isfinite(b)) seen.behavior = std::max(seen.behavior, FloatBehavior::kExtendsRange);
    } else if (!finite && largest_seen > kNearOverflow) {
      seen.behavior = FloatBehavior::kChangesRange;
    } else if (finite || magnitude < kLarge) {
      seen.difference = FloatDifference{output, i, a, b};
    }
  }
}

/// Whether no rounding on the way explains the difference.
bool survives_noise(const Rule& sides, const Tensors& inputs, const FloatDifference& difference,
                    std::uint64_t seed) {
  const auto source = run_with_noise(sides.source, inputs, seed),
             target = run_with_noise(sides.target, inputs, seed);
  return differ_beyond_noise(source.outputs[difference.output][difference.element],
                             target.outputs[difference.output][difference.element]);
}

}  // namespace

FloatObservation observe_floats(const Rule& sides, std::uint64_t seed) {
  Random random(seed);
  FloatObservation seen;
  const RoundedSide source(sides.source), target(sides.target);
  for (const Inputs& wanted : kInputs) {
    const Tensors inputs = draw_inputs(sides.source, wanted, random);
    for (bool round : {false, true}) {
      if (round && wanted.magnitude > kLarge) continue;
      const bool known = seen.difference.has_value();
      const auto rounding = round ? std::optional(Rounding()) : std::nullopt;
      Met met;
      const auto left = source.run(inputs, rounding, met);
      const auto right = target.run(inputs, rounding, met);
      if (!left || !right) continue;  // what only one side admits, check() finds
      for (std::size_t k = 0; k < left->size(); ++k)
        if (round)
          compare_rounded((*left)[k], (*right)[k], seen);
        else
          find_difference((*left)[k], (*right)[k], k, wanted.magnitude, met.largest, seen);
      if (!known && seen.difference &&
          !survives_noise(sides, inputs, *seen.difference, random.next()))
        seen.difference.reset();
    }
  }
  return seen;
}

}  // namespace soapstone::rules
