// A mesh: devices in a grid, whose axes are what operators are cut along. It answers what a
// collective along an axis takes. Devices compute at one rate, but along one axis they may differ:
// then the faster ones get more of what is cut along it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parallel/sharding/layout.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {

/// Microseconds that a collective along an axis takes (`bytes` as in collective_us) while all other
/// groups along it do the same.
using AxisTime = std::function<double(Collective what, std::size_t axis, double bytes)>;

/// An axis along which devices compute at different rates.
struct UnevenAxis {
  std::size_t axis = 0;
  std::vector<double> rates;  ///< By position on the axis; the slowest is 1.
};

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
  /// By how much less time all devices along the axis need than one of the slowest: its size, if
  /// all are alike.
  double rate(std::size_t axis) const;
  /// How many of the largest share make the whole: its size, if all are alike.
  double largest_shares(std::size_t axis) const;
  /// Products of these over the axes that cut the tensor: by how much less time, and memory, its
  /// largest piece takes than all of it on one of the slowest devices.
  double time_pieces(const Layout& layout) const;
  double memory_pieces(const Layout& layout) const;
  /// Remembers what it was asked: for one thread at a time.
  double us(Collective what, std::size_t axis, double bytes) const;

 private:
  std::vector<std::int64_t> axis_sizes_;
  AxisTime time_us_;
  std::optional<UnevenAxis> uneven_;
  mutable std::array<std::map<std::pair<Collective, double>, double>, kMostAxes> known_;
};

/// Time and traffic of a change of layout.
struct Conversion {
  double us = 0;
  double bytes_moved = 0;  ///< Sent by each device.
  Conversion& operator+=(const Conversion& other);
};

/// Brings a tensor of `bytes` in all from one layout to another. kBroadcast counts as kReplicated
/// here: the values are the same. From whole to partial is free: one device keeps them, the others
/// hold zeros. The cheapest order of steps of the usual kinds: cut, reduce-scatter, all-to-all,
/// all-reduce (along several axes hierarchically), all-gather (slow axes first).
Conversion convert(const Mesh& mesh, double bytes, const Layout& from, const Layout& to);

/// What the gradient of the tensor needs in turn: from the layout that the reader's input implies
/// to the one that the producer's output implies.
Conversion convert_gradient(const Mesh& mesh, double bytes, const Layout& from, const Layout& to);

}  // namespace soapstone::parallel
