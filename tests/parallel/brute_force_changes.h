// The time of changes of layout on a mesh, as the brute force counts it.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parallel/topology/collectives.h"
#include "tests/parallel/brute_force_meshes.h"

namespace soapstone::parallel::brute_force {

/// Remembers what it was asked.
class LayoutChangeTimes {
 public:
  /// `mesh` must outlive this.
  LayoutChangeTimes(const Topology& machine, const Mesh& mesh) : mesh_(mesh) {
    std::int64_t stride = 1;
    for (std::size_t a = 0; a < kAxes; ++a) {
      shapes_[a] = shape_of_axis(machine, stride, mesh.sizes[a]);
      stride *= mesh.sizes[a];
    }
  }

  /// Cut what all have; scatter sums; exchange cuts for others; all-reduce what remains, within the
  /// scattered pieces of the axes before; gather. Along several axes in the best order.
  double us(double bytes, const Layout& from, const Layout& to) {
    if (from == to) return 0;
    double us = 0, here = bytes;
    AxisSet scattered = 0, summed = 0, gathered = 0;
    for (std::size_t a = 0; a < kAxes; ++a) {
      if (is_cut(from[a]) || (is_same(from[a]) && is_cut(to[a]))) here *= mesh_.largest[a];
      if (from[a] == kSum && is_cut(to[a])) scattered |= 1u << a;
      if (from[a] == kSum && is_same(to[a])) summed |= 1u << a;
      if (is_cut(from[a]) && is_same(to[a])) gathered |= 1u << a;
    }
    us += scatter_us(scattered, here);
    for (std::size_t a = 0; a < kAxes; ++a)
      if ((scattered >> a & 1u) != 0) here *= mesh_.largest[a];
    for (std::size_t a = 0; a < kAxes; ++a)
      if (is_cut(from[a]) && is_cut(to[a]) && from[a] != to[a])
        us += collective_of(Collective::kAllToAll, a, here);
    return us + sum_us(summed, here) + gather_us(gathered, here);
  }

 private:
  double collective(Collective what, std::size_t axis, double bytes) {
    if (mesh_.sizes[axis] == 1 || bytes == 0) return 0;
    auto& known = known_us_[axis][static_cast<std::size_t>(what)];
    const auto [at, is_new] = known.try_emplace(bytes, 0.0);
    if (is_new) at->second = best_collective(what, shapes_[axis], bytes).us;
    return at->second;
  }

  /// `bytes` of a device; it takes as long as the largest piece.
  double collective_of(Collective what, std::size_t axis, double bytes) {
    return collective(what, axis,
                      bytes * mesh_.largest[axis] * static_cast<double>(mesh_.sizes[axis]));
  }

  /// Axes by bit.
  using AxisSet = unsigned;

  template <class Cost>
  static double least_first(AxisSet axes, const Cost& cost) {
    if (axes == 0) return 0;
    double least_us = kInfinite;
    for (std::size_t a = 0; a < kAxes; ++a)
      if ((axes >> a & 1u) != 0) least_us = std::min(least_us, cost(a, axes & ~(1u << a)));
    return least_us;
  }
  double scatter_us(AxisSet axes, double here) {
    return least_first(axes, [&](std::size_t a, AxisSet rest) {
      return collective_of(Collective::kReduceScatter, a, here) +
             scatter_us(rest, here * mesh_.largest[a]);
    });
  }
  double gather_us(AxisSet axes, double here) {
    return least_first(axes, [&](std::size_t a, AxisSet rest) {
      const double larger = here / mesh_.largest[a];
      return collective_of(Collective::kAllGather, a, larger) + gather_us(rest, larger);
    });
  }
  /// In equal parts, whatever the grains.
  double sum_us(AxisSet axes, double here) {
    return least_first(axes, [&](std::size_t a, AxisSet rest) {
      const double whole_us = collective(Collective::kAllReduce, a, here) + sum_us(rest, here);
      if (rest == 0) return whole_us;
      return std::min(whole_us, collective(Collective::kReduceScatter, a, here) +
                                    sum_us(rest, here / static_cast<double>(mesh_.sizes[a])) +
                                    collective(Collective::kAllGather, a, here));
    });
  }

  const Mesh& mesh_;
  std::array<GroupShape, kAxes> shapes_;
  std::array<std::array<std::unordered_map<double, double>, 6>, kAxes> known_us_;
};

}  // namespace soapstone::parallel::brute_force
