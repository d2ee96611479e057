// Field elements are small integers, so that their order is that of the numbers they stand for and
// laws of relu and max hold there. Their magnitudes vary: if all were alike, x·x + y would always
// be positive.
#include "generator/vocabulary/draws.h"

#include <algorithm>
#include <cmath>

#include "core/base/hash.h"
#include "ops/evaluation/field.h"

namespace soapstone::generator {
namespace {

/// Products of a few inputs stay below 2^60.
constexpr std::uint64_t kMostBits = 14, kMostBitsOfMultiples = 9;

double fraction_of(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

/// Whether the sum of all elements is negative: a law of relu must not depend on the sign of one
/// sum, nor on the signs of two scalars being different.
bool has_negative_sum(const TensorDraw& draw) {
  const bool odd = (draw.group + draw.slot) % 2 == 1;
  if (draw.kind == DrawKind::kNegative) return true;
  if (draw.kind == DrawKind::kPositive) return false;
  if (draw.kind == DrawKind::kOddNegative) return odd;
  if (draw.kind == DrawKind::kEvenNegative) return !odd;
  if (draw.kind != DrawKind::kUsual) return (core::hash_mix(draw.seed) & 1) != 0;
  switch (draw.world % 3) {
  case 0:
    return draw.slot % 2 == 1;
  case 1:
    return draw.slot % 3 != 2;
  default:
    return draw.slot % 2 == 0;
  }
}

bool is_negative(const TensorDraw& draw, std::uint64_t random, std::size_t element) {
  if (draw.kind == DrawKind::kRowSigns)
    return (core::hash_combine(draw.seed, element / draw.row_length) & 1) != 0;
  if (draw.kind != DrawKind::kUsual && draw.kind != DrawKind::kWide) return has_negative_sum(draw);
  // The first two elements have different signs, so that relu of none is trivial. In one world
  // most others are of one sign, so that the largest of many is not always positive.
  if (element < 2) return element == 1;
  if (draw.world != 1) return (random & 1) != 0;
  return ((random & 3) != 0) == has_negative_sum(draw);
}

void set(const TensorDraw& draw, std::uint64_t random, bool negative, double& value) {
  const double u = fraction_of(random);
  const double size = draw.kind == DrawKind::kUsual ? 0.1 + 1.4 * u : std::exp2(8 * u - 4);
  value = negative ? -size : size;
}
void set(const TensorDraw& draw, std::uint64_t random, bool negative, std::uint64_t& value) {
  const std::uint64_t most = draw.divisor == 1 ? kMostBits : kMostBitsOfMultiples;
  const std::uint64_t bits = 2 + (random >> 8) % (most - 1);
  const auto size = static_cast<std::int64_t>(1 + (random >> 32) % (std::uint64_t{1} << bits));
  value = ops::field::from_int((negative ? -size : size) * draw.divisor);
}

bool is_below_zero(double value) { return value < 0; }
bool is_below_zero(std::uint64_t value) { return ops::field::is_negative(value); }
double minus(double value) { return -value; }
std::uint64_t minus(std::uint64_t value) { return ops::field::negate(value); }
double plus(double a, double b) { return a + b; }
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return ops::field::add(a, b); }

void set_int(std::int64_t number, double& value) { value = static_cast<double>(number); }
void set_int(std::int64_t number, std::uint64_t& value) { value = ops::field::from_int(number); }

}  // namespace

template <class T>
void draw_tensor(const TensorDraw& draw, std::span<T> values) {
  T sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint64_t random = core::hash_combine(draw.seed, k);
    set(draw, random, is_negative(draw, random, k), values[k]);
    sum = plus(sum, values[k]);
  }
  if (is_below_zero(sum) != has_negative_sum(draw))
    for (T& value : values) value = minus(value);
}

template <class T>
void draw_indices(const TensorDraw& draw, std::int64_t bound, std::span<T> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t low = k * bound / count, high = (k + 1) * bound / count;
    const auto random = static_cast<std::int64_t>(
        core::hash_combine(draw.seed, static_cast<std::uint64_t>(k)) >> 32);
    set_int(low + random % std::max<std::int64_t>(1, high - low),
            values[static_cast<std::size_t>(k)]);
  }
}

template void draw_tensor(const TensorDraw&, std::span<double>);
template void draw_tensor(const TensorDraw&, std::span<std::uint64_t>);
template void draw_indices(const TensorDraw&, std::int64_t, std::span<double>);
template void draw_indices(const TensorDraw&, std::int64_t, std::span<std::uint64_t>);

}  // namespace soapstone::generator
