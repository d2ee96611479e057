// The elements of one dimension that a resized element is made of. One description serves the
// meaning of `resize`, its kernels and the reader of models.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace soapstone::ops {

enum class ResizeMode : std::uint8_t { kNearest, kLinear };
enum class ResizeRounding : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

std::optional<ResizeMode> parse_resize_mode(std::string_view text);
std::optional<ResizeRounding> parse_resize_rounding(std::string_view text);

/// How positions of the result are mapped to positions of the input. up / down is the ratio of
/// sizes for half_pixel and asymmetric coordinates, and the ratio of sizes less 1 for
/// align_corners.
enum class ResizeCoordinates : std::uint8_t { kHalfPixel, kAsymmetric, kAlignCorners };
std::optional<ResizeCoordinates> parse_resize_coordinates(std::string_view text);

/// The coordinate in the input of output position i, before it is clamped into it:
/// (scale·i + offset) / divisor, exactly.
struct ResizeCoordinate {
  std::int64_t scale = 1, offset = 0, divisor = 1;
  /// Precondition: `up` and `down` are 1 or more.
  static ResizeCoordinate make(ResizeCoordinates kind, std::int64_t up, std::int64_t down);
};

/// A rounded coordinate is v where low ≤ 2·(scale·i + offset − v·divisor) < high.
struct RoundingBounds {
  std::int64_t low, high;
};
RoundingBounds rounding_bounds(ResizeRounding rounding, std::int64_t divisor);

/// The element of weight 1 − `upper` and, where `upper` is not 0, the one behind it.
struct ResizeTap {
  std::int64_t position = 0;
  double upper = 0;
};
/// One tap an output position. Precondition: sizes of 1 and more.
std::vector<ResizeTap> resize_taps(ResizeMode mode, ResizeRounding rounding,
                                   const ResizeCoordinate& coordinate, std::int64_t input,
                                   std::int64_t output);

}  // namespace soapstone::ops
