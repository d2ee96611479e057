// Values of the inputs. Two terms are compared at few values, so these have to show what differs:
// signs and magnitudes vary, also those of sums of all elements.
#pragma once

#include <cstdint>
#include <span>

namespace soapstone::generator {

enum class DrawKind : std::uint8_t {
  kUsual,     ///< Numbers of magnitude 1.
  kWide,      ///< From 1/16 to 16.
  kRowSigns,  ///< All elements of a row have one sign.
  // All elements of a tensor have one sign, by its number.
  kNegative,
  kPositive,
  kOddNegative,
  kEvenNegative,
};

/// The choices on which the values of one tensor depend.
struct TensorDraw {
  DrawKind kind = DrawKind::kUsual;
  std::uint64_t seed = 0;
  std::size_t group = 0, slot = 0, world = 0;
  std::size_t row_length = 1;  ///< Length of the last dimension.
  std::int64_t divisor = 1;    ///< Field elements are multiples of it, so that means are integers.
};

/// T: double or an element of the prime field, which is a small integer.
template <class T>
void draw_tensor(const TensorDraw& draw, std::span<T> values);

/// Indices from 0 to bound − 1, spread evenly.
template <class T>
void draw_indices(const TensorDraw& draw, std::int64_t bound, std::span<T> values);

}  // namespace soapstone::generator
