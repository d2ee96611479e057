// See traffic.h.
#include "gpu/text/traffic.h"

#include <algorithm>
#include <utility>

#include "gpu/text/sectors.h"
#include "gpu/text/tiles.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::ExpressionText;
using runtime::generated::IndexSpace;
using runtime::generated::MemoryAccess;

/// Threads side by side have neighboring columns of a row, or, where each thread has rows of its
/// own, neighboring rows, of which it finds the next columns in the cache.
double excess_of_rows(const Region& region, const KernelPlan& plan) {
  constexpr std::int64_t kCachedColumns = 16;
  IndexSpace space;
  const std::uint32_t row = space.add("row", 0, plan.row_count);
  ExpressionText text(region, space, {plan.rows.begin(), plan.rows.end()});
  text.block(1, [&] { write_row(text, space, plan, IndexSpace::value_of(row)); });
  double excess = 0;
  for (const MemoryAccess& access : text.readings().accesses) {
    if (plan.lanes > 1) {
      if (access.column)
        excess +=
            moved_by(region, space, access, warps_along(space, *access.column, plan.width)).excess;
      continue;
    }
    std::vector<WarpPoints> warps = warps_along(space, row, 1);
    for (WarpPoints& points : warps) {
      if (!access.column) continue;
      const WarpPoints first = std::exchange(points, {});
      const std::int64_t count = std::min(space.variable(*access.column).high, kCachedColumns);
      for (const Point& point : first)
        for (std::int64_t column = 0; column < count; ++column) {
          points.push_back(point);
          points.back()[*access.column] = column;
        }
    }
    excess += moved_by(region, space, access, warps).excess;
  }
  return excess;
}

}  // namespace

double excess_bytes(const Region& region, const KernelPlan& plan) {
  if (plan.row_count > 0) return excess_of_rows(region, plan);
  double excess = 0;
  for (const Segment& segment : plan.segments)
    excess += (segment.tile ? tiled_segment(region, segment, *segment.tile, plan.width).moved
                            : moved_by_segment(region, segment, plan.width))
                  .excess;
  return excess;
}

}  // namespace soapstone::gpu
