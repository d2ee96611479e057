// See resize_sampling.h.
#include "ops/parts/resize_sampling.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::int64_t nearest(const ResizeCoordinate& at, ResizeRounding rounding, std::int64_t i) {
  // The only v with low ≤ 2·(x − v·divisor) < high, as high − low = 2·divisor.
  const std::int64_t x = at.scale * i + at.offset;
  return floor_divide(2 * x - rounding_bounds(rounding, at.divisor).low, 2 * at.divisor);
}

}  // namespace

std::optional<ResizeMode> parse_resize_mode(std::string_view text) {
  if (text == "nearest") return ResizeMode::kNearest;
  if (text == "linear") return ResizeMode::kLinear;
  return std::nullopt;
}

std::optional<ResizeRounding> parse_resize_rounding(std::string_view text) {
  if (text == "round_prefer_floor") return ResizeRounding::kPreferFloor;
  if (text == "round_prefer_ceil") return ResizeRounding::kPreferCeil;
  if (text == "floor") return ResizeRounding::kFloor;
  if (text == "ceil") return ResizeRounding::kCeil;
  return std::nullopt;
}

std::optional<ResizeCoordinates> parse_resize_coordinates(std::string_view text) {
  if (text == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (text == "asymmetric") return ResizeCoordinates::kAsymmetric;
  if (text == "align_corners") return ResizeCoordinates::kAlignCorners;
  return std::nullopt;
}

ResizeCoordinate ResizeCoordinate::make(ResizeCoordinates kind, std::int64_t up,
                                        std::int64_t down) {
  if (kind != ResizeCoordinates::kHalfPixel) return {down, 0, up};
  // (i + 1/2)·down/up − 1/2 = (2·down·i + down − up) / (2·up)
  return {2 * down, down - up, 2 * up};
}

RoundingBounds rounding_bounds(ResizeRounding rounding, std::int64_t divisor) {
  switch (rounding) {
  case ResizeRounding::kFloor:  // v ≤ x/d < v + 1
    return {0, 2 * divisor};
  case ResizeRounding::kCeil:  // v − 1 < x/d ≤ v
    return {1 - 2 * divisor, 1};
  case ResizeRounding::kPreferCeil:  // v ≤ x/d + 1/2 < v + 1
    return {-divisor, divisor};
  case ResizeRounding::kPreferFloor:  // v − 1 < x/d − 1/2 ≤ v
    break;
  }
  return {1 - divisor, divisor + 1};
}

std::vector<ResizeTap> resize_taps(ResizeMode mode, ResizeRounding rounding,
                                   const ResizeCoordinate& coordinate, std::int64_t input,
                                   std::int64_t output) {
  std::vector<ResizeTap> taps(static_cast<std::size_t>(output));
  for (std::int64_t i = 0; i < output; ++i) {
    ResizeTap& tap = taps[static_cast<std::size_t>(i)];
    if (mode == ResizeMode::kNearest) {
      tap.position = std::clamp<std::int64_t>(nearest(coordinate, rounding, i), 0, input - 1);
      continue;
    }
    const std::int64_t x = std::clamp<std::int64_t>(coordinate.scale * i + coordinate.offset, 0,
                                                    (input - 1) * coordinate.divisor);
    tap.position = x / coordinate.divisor;
    tap.upper =
        static_cast<double>(x % coordinate.divisor) / static_cast<double>(coordinate.divisor);
  }
  return taps;
}

}  // namespace soapstone::ops
