// How a tensor lies on a mesh of devices, and what that means for its gradient. Knows no operators
// and no devices.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

namespace soapstone::parallel {

/// Axes that a mesh may have.
inline constexpr std::size_t kMostAxes = 4;

/// What one axis of a mesh does to a tensor: cut it along the digit of that number (Digits), or one
/// of these.
enum AxisUse : std::int8_t {
  /// All devices along the axis hold the same values and compute the same with them.
  kReplicated = -1,
  /// The sum over the axis is the tensor (a cut reduction).
  kPartial = -2,
  /// All devices along the axis hold the same values, but compute different parts with them. The
  /// gradient is therefore a sum over the axis. Only what moves elements alone makes it of such.
  kBroadcast = -3,
};

/// One use for each axis of the mesh; axes that the mesh lacks are kReplicated.
struct Layout {
  std::array<std::int8_t, kMostAxes> axes{kReplicated, kReplicated, kReplicated, kReplicated};
  auto operator<=>(const Layout&) const = default;
};

/// The layout of the gradient of a tensor that is asked for in this layout: where the values are
/// broadcast the gradient is partial, and where the values are partial the gradient is the same
/// everywhere (the adjoint of copying is adding).
Layout gradient_layout(const Layout& values);

/// Devices that hold different pieces: the product of the sizes of axes that cut a dimension.
std::int64_t pieces(const Layout& layout, const std::vector<std::int64_t>& axis_sizes);

}  // namespace soapstone::parallel
