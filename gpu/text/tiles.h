// Maps that read along another axis than they store: blocks compute tiles, and threads share what
// is loaded along the one axis and used along the other. Where a tile is so narrow that a warp uses
// whole sectors along both, nothing is shared. Knows no operator: positions decide.
#pragma once

#include <vector>

#include "gpu/text/sectors.h"
#include "runtime/generated/kernel_plan.h"

namespace soapstone::gpu {

using runtime::generated::KernelOptions;
using runtime::generated::KernelPlan;
using runtime::generated::Region;
using runtime::generated::Segment;
using runtime::generated::Tile;

/// Elements from one column of a tile in shared memory to the next: threads side by side along
/// either axis use different banks.
std::int64_t pitch_of(const Tile& tile);

/// What a segment reads when its result's position is x + columns · (y + rows · z).
struct TiledSegment {
  runtime::generated::IndexSpace space;
  std::uint32_t x = 0, y = 0, z = 0;  ///< Variables of the space.
  runtime::generated::Affine element;
  /// Loads along y, which go through shared memory; all others are along x.
  std::vector<runtime::generated::MemoryAccess> shared;
  std::int64_t shared_bytes = 0;
  Moved moved;  ///< By all accesses.
};

/// `width`: elements that a thread handles at once, where alignment admits it.
TiledSegment tiled_segment(const Region& region, const Segment& segment, const Tile& tile,
                           std::int64_t width);

/// By all accesses of a segment without tiles.
Moved moved_by_segment(const Region& region, const Segment& segment, std::int64_t width);

/// The plan of a kernel for a GPU: as plan_kernel() or plan_map() say, with tiles for those
/// segments that move much less in them, in sectors, or in tiles as the options say.
KernelPlan plan_for_gpu(const Region& region, const KernelOptions& options = {});

}  // namespace soapstone::gpu
