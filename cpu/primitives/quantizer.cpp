// See quantizer.h.
#include "cpu/primitives/quantizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"

namespace soapstone::cpu {
namespace {

constexpr std::int32_t kLargest = 255;
/// Elements that are worth a thread.
constexpr std::size_t kGrain = 65536;

/// An integer for each float, in the same order: minima and maxima of integers need no rule for
/// NaN, which lies beyond the infinities.
constexpr std::int32_t ordered(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
constexpr std::int32_t ordered(float x) { return ordered(std::bit_cast<std::int32_t>(x)); }
/// It is its own inverse.
constexpr float float_at(std::int32_t place) { return std::bit_cast<float>(ordered(place)); }

struct Range {
  std::int32_t least = 0, most = 0;  // ordered(), with that of zero among them
};

SOAPSTONE_VECTOR_CLONES Range range_of(const float* x, std::size_t count) {
  std::int32_t least = 0, most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[i]);
    const std::int32_t place = bits ^ ((bits >> 31) & 0x7fffffff);
    least = std::min(least, place);
    most = std::max(most, place);
  }
  return {least, most};
}

SOAPSTONE_VECTOR_CLONES void quantize_range(const float* x, std::uint8_t* q, std::size_t count,
                                            float inverse, std::int32_t zero_point) {
  // Floats from 2²³ to 2²⁴ are the integers: a sum there is rounded to the nearest one.
  constexpr float kIntegers = 0x1.8p23F;
  const std::int32_t offset = zero_point - std::bit_cast<std::int32_t>(kIntegers);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t place = std::bit_cast<std::int32_t>(x[i] * inverse + kIntegers) + offset;
    q[i] = static_cast<std::uint8_t>(std::clamp(place, 0, kLargest));
  }
}

float inverse_of(float scale) { return static_cast<float>(1 / static_cast<double>(scale)); }

}  // namespace

bool SourceQuantizer::measure(const float* source) {
  Range range;
  std::mutex mutex;
  parallel_ranges(threads_, count_, kGrain, [&](std::size_t begin, std::size_t end) {
    const Range found = range_of(source + begin, end - begin);
    const std::scoped_lock lock(mutex);
    range = {std::min(range.least, found.least), std::max(range.most, found.most)};
  });
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (range.least <= ordered(-kInfinity) || range.most >= ordered(kInfinity)) return false;
  const double least = float_at(range.least), most = float_at(range.most);
  // The inverse of a smaller scale is no float.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  scale_ = static_cast<float>(std::max((most - least) / kLargest, kSmallest));
  zero_point_ = std::clamp(static_cast<std::int32_t>(std::lrint(-least / scale_)), 0, kLargest);
  return true;
}

void SourceQuantizer::quantize(const float* source, std::uint8_t* quantized) const {
  const float inverse = inverse_of(scale_);
  parallel_ranges(threads_, count_, kGrain, [&](std::size_t begin, std::size_t end) {
    quantize_range(source + begin, quantized + begin, end - begin, inverse, zero_point_);
  });
}

}  // namespace soapstone::cpu
