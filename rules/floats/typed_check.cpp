// See typed_check.h.
#include "rules/floats/typed_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/definition/valid_values.h"
#include "rules/floats/noise.h"

namespace soapstone::rules {
namespace {

using core::DataType;
using WantedRange = std::optional<ops::ValueRange>;

bool needs_types(const Graph& side) {
  for (std::size_t k = 0; k < side.tensor_bound(); ++k) {
    if (!side.contains(TensorId(k))) continue;
    const DataType type = side.tensor(TensorId(k)).type.data_type;
    if (!core::is_floating(type) && type != DataType::kBool) return true;
  }
  return std::ranges::any_of(side.order(), [&](NodeId id) {
    return side.node(id).op->movement == core::Movement::kConvert;
  });
}

ExactInteger draw_integer(DataType type, const WantedRange& valid, Random& random, int trial) {
  if (type == DataType::kBool) return random.between(0, 1);
  const ExactRange range = exact_range(type);
  const auto within = [&](ExactInteger v) { return std::clamp(v, range.low, range.high); };
  if (valid && valid->low < valid->high) {
    // The whole range, with its ends; now and then the first place beyond each.
    const std::int64_t beyond = trial % 8 == 7 ? 1 : 0;
    const ExactInteger value = random.between(valid->low - beyond, valid->high - 1 + beyond);
    // A number that a cast to fewer bits would bring back.
    const bool far = trial % 8 == 6 && random.next() % 2 == 0;
    return within(far ? value + (static_cast<ExactInteger>(1) << 32) : value);
  }
  if (trial % 4 == 0) return within(random.between(-3, 3));
  switch (random.next() % 8) {
  case 0:
    return range.low + random.between(0, 2);
  case 1:
    return range.high - random.between(0, 2);
  case 2:
  case 3:
    return within(random.between(-3, 3));
  case 4: {
    // The ends of the ranges of fewer bits, and of floating types.
    constexpr std::array kBits = {7, 8, 11, 15, 16, 24, 31, 32, 53, 62, 63};
    const ExactInteger power = static_cast<ExactInteger>(1) << kBits[random.next() % kBits.size()];
    const ExactInteger value = power + random.between(-2, 5);
    return wrapped(random.next() % 2 == 0 ? value : -value, type);
  }
  case 5:
    return within(random.between(-1000, 1000));
  default:
    return wrapped(static_cast<std::int64_t>(random.next()), type);
  }
}

double draw_real(DataType type, Random& random, int trial) {
  const double unit = random.unit();
  double value = static_cast<double>(random.between(-12, 12)) / 4;
  if (trial % 4 == 1) value = 4 * unit - 2;
  if (trial % 4 == 2)
    value = std::round((2 * unit - 1) * 0x1p26) + (random.between(0, 1) == 1 ? 0.5 : 0);
  if (trial % 4 == 3) value = (2 * unit - 1) * 1e5;
  const double number = nearest(value, type);
  return std::isfinite(number) ? number : nearest(value / 0x1p12, type);
}

double largest(const std::vector<TypedValues>& tensors) {
  double most = 0;
  for (const TypedValues& each : tensors) {
    for (double v : each.reals)
      if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  }
  return most;
}

bool differ(const TypedValues& a, const TypedValues& b, std::size_t k, double scale) {
  if (!core::is_floating(a.type)) return a.integers[k] != b.integers[k];
  constexpr double kTolerance = 1e-10;
  const double x = a.reals[k], y = b.reals[k];
  if (x == y || std::isnan(x) || std::isnan(y)) return false;
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  return std::fabs(x - y) > kTolerance * std::max({std::fabs(x), std::fabs(y), scale});
}

/// Whether the difference is one of rounding alone, as that of exp(1000) and exp(2000): doubles
/// know no difference of what is compared then.
class RoundedAway {
 public:
  explicit RoundedAway(const Rule& sides)
      : sides_(sides), is_possible_(saturates(sides.source) || saturates(sides.target)) {}

  bool operator()(const std::vector<TypedValues>& inputs, std::size_t output, std::size_t element) {
    if (!is_possible_) return false;
    if (!source_) {
      std::vector<std::vector<double>> values;
      for (const TypedValues& each : inputs) {
        values.push_back(each.reals);
        for (const ExactInteger v : each.integers) values.back().push_back(static_cast<double>(v));
      }
      source_ = run_with_noise(sides_.source, values, 1);
      target_ = run_with_noise(sides_.target, values, 1);
    }
    return !differ_beyond_noise(source_->outputs[output][element],
                                target_->outputs[output][element]);
  }

 private:
  const Rule& sides_;
  bool is_possible_;
  std::optional<NoisyOutputs> source_, target_;
};

double number_of(const TypedValues& values, std::size_t k) {
  return core::is_floating(values.type) ? values.reals[k] : static_cast<double>(values.integers[k]);
}

}  // namespace

bool needs_types(const Rule& rule) { return needs_types(rule.source) || needs_types(rule.target); }

std::vector<TypedValues> draw_typed(const Graph& source, const Graph& target, Random& random,
                                    int trial) {
  const auto valid = ops::valid_values(source), other = ops::valid_values(target);
  std::vector<TypedValues> inputs;
  for (std::size_t k = 0; k < source.inputs().size(); ++k) {
    const core::TensorType& type = source.tensor(source.inputs()[k]).type;
    const auto count = static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
    const WantedRange& own = valid[source.inputs()[k].index()];
    const WantedRange& range = own ? own : other[target.inputs()[k].index()];
    TypedValues values;
    values.type = type.data_type;
    for (std::size_t i = 0; i < count; ++i) {
      if (core::is_floating(type.data_type))
        values.reals.push_back(draw_real(type.data_type, random, trial));
      else
        values.integers.push_back(draw_integer(type.data_type, range, random, trial));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

Result<std::optional<TypedDifference>> compare_typed(const Rule& sides,
                                                     std::vector<TypedValues> inputs) {
  const auto left = run_typed(sides.source, inputs);
  if (!left && left.error().code == core::ErrorCode::kUnsupported) return left.error();
  if (!left) return std::optional<TypedDifference>();
  const auto right = run_typed(sides.target, inputs);
  if (!right && right.error().code == core::ErrorCode::kUnsupported) return right.error();
  const auto other_left = run_typed(sides.source, inputs, Filling::kSecond);
  const auto other_right = run_typed(sides.target, inputs, Filling::kSecond);
  TypedDifference found;
  const double scale = std::max(largest(inputs), largest(*left));
  RoundedAway is_rounded_away(sides);
  for (std::size_t k = 0; k < left->size(); ++k)
    for (std::size_t i = 0; i < std::max((*left)[k].reals.size(), (*left)[k].integers.size());
         ++i) {
      const auto& source = (*left)[k];
      // The target may compute in any way what the source leaves to the machine.
      if (!other_left || differ(source, (*other_left)[k], i, scale)) continue;
      const bool same = right && !differ(source, (*right)[k], i, scale);
      if (same && other_right && !differ(source, (*other_right)[k], i, scale)) continue;
      if (right && is_rounded_away(inputs, k, i)) continue;
      found.inputs = std::move(inputs);
      found.output = k;
      found.element = i;
      found.source = element_text(source, i);
      found.source_number = number_of(source, i);
      const bool has_value = right && !same;
      found.target = has_value ? element_text((*right)[k], i) : "no value";
      found.target_number =
          has_value ? number_of((*right)[k], i) : std::numeric_limits<double>::quiet_NaN();
      return std::optional(std::move(found));
    }
  return std::optional<TypedDifference>();
}

Result<std::optional<TypedDifference>> find_typed_difference(const Rule& sides, Random& random,
                                                             int trials) {
  for (int trial = 0; trial < trials; ++trial) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        auto difference,
        compare_typed(sides, draw_typed(sides.source, sides.target, random, trial)));
    if (difference) return difference;
  }
  return std::optional<TypedDifference>();
}

}  // namespace soapstone::rules
