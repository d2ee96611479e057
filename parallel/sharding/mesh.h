// A mesh: devices in a grid, whose axes are what operators are cut along. It answers what a
// collective along an axis takes. Along one axis devices may have larger and smaller pieces of what
// is cut there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "parallel/sharding/layout.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {

/// Microseconds that a collective along an axis takes (`bytes` as in collective_us) while all other
/// groups along it do the same.
using AxisTime = std::function<double(Collective what, std::size_t axis, double bytes)>;

/// An axis along which devices have pieces of different sizes: each position has some of a number
/// of equal grains. What cannot be divided into these is not cut there, so that a piece is the same
/// elements however its dimension is written (12 heads, 768 columns).
struct UnevenAxis {
  std::size_t axis = 0;
  std::vector<std::int64_t> grains;  ///< By position on the axis, none 0.
  std::vector<std::size_t> kinds;    ///< By position: of its devices, all alike.
  std::int64_t all_grains() const;
  double share(std::size_t position) const;
  double largest_share() const;
};

/// The share of a tensor that a device has which has that share of what the uneven axis cuts.
double piece(const Layout& layout, std::span<const std::int64_t> axis_sizes,
             const std::optional<UnevenAxis>& uneven, double share);
/// The same of the device with the most.
double largest_piece(const Layout& layout, std::span<const std::int64_t> axis_sizes,
                     const std::optional<UnevenAxis>& uneven);

/// Whole numbers that add up to `size`, as nearly in proportion to the rates as there are (by
/// largest remainders, of equal ones the first).
std::vector<std::int64_t> in_proportion(std::int64_t size, std::span<const double> rates);

class Mesh {
 public:
  /// `axis_sizes` from the innermost axis (neighboring devices, the fastest links) outward; at most
  /// kMostAxes.
  Mesh(std::vector<std::int64_t> axis_sizes, AxisTime time_us,
       std::optional<UnevenAxis> uneven = std::nullopt);

  const std::vector<std::int64_t>& axis_sizes() const { return axis_sizes_; }
  std::size_t axis_count() const { return std::min(axis_sizes_.size(), kMostAxes); }
  std::int64_t device_count() const;
  const std::optional<UnevenAxis>& uneven() const { return uneven_; }
  bool is_uneven(std::size_t axis) const { return uneven_ && uneven_->axis == axis; }
  /// The share of what is cut along the axis that the device with the most has.
  double largest_share(std::size_t axis) const { return largest_share_[axis]; }
  double largest_piece(const Layout& layout) const;
  /// Remembers what it was asked: for one thread at a time.
  double us(Collective what, std::size_t axis, double bytes) const;

 private:
  std::vector<std::int64_t> axis_sizes_;
  AxisTime time_us_;
  std::optional<UnevenAxis> uneven_;
  std::array<double, kMostAxes> largest_share_{1, 1, 1, 1};
  static constexpr std::size_t kCollectives = 6;
  mutable std::array<std::array<std::unordered_map<double, double>, kCollectives>, kMostAxes>
      known_us_;  ///< By axis, collective and bytes.
};

/// Time and traffic of a change of layout.
struct Conversion {
  double us = 0;
  double bytes_moved = 0;  ///< Sent by each device.
  Conversion& operator+=(const Conversion& other);
  Conversion& operator*=(double times);
};

/// A step of a change of layout.
struct ConversionStep {
  Collective what = Collective::kAllReduce;
  std::size_t axis = 0;
  double bytes = 0;  ///< As in collective_us().
  double us = 0;
  auto operator<=>(const ConversionStep&) const = default;
};

/// Brings a tensor of `bytes` in all from one layout to another. kBroadcast counts as kReplicated
/// here: the values are the same. From whole to partial is free: one device keeps them, the others
/// hold zeros. Steps are cut, reduce-scatter, all-to-all, all-reduce, all-gather, each along
/// several axes in the order that takes the least time, and all-reduce hierarchically if that takes
/// less than one axis after the other. Of equal orders, inner axes are scattered first and gathered
/// last.
Conversion convert(const Mesh& mesh, double bytes, const Layout& from, const Layout& to);
/// The collectives of convert(), in order.
std::vector<ConversionStep> conversion_steps(const Mesh& mesh, double bytes, const Layout& from,
                                             const Layout& to);

/// What the gradient of the tensor needs in turn: from the layout that the reader's input implies
/// to the one that the producer's output implies.
Conversion convert_gradient(const Mesh& mesh, double bytes, const Layout& from, const Layout& to);

}  // namespace soapstone::parallel
