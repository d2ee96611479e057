// The statements of blocks that compute one tile of a segment each.
#pragma once

#include <string>

#include "gpu/text/tiles.h"

namespace soapstone::gpu {

/// Statements of a kernel.
struct KernelDraft {
  std::string body;
  std::int64_t blocks = 0;
  std::int64_t shared_bytes = 0;
  bool has_barriers = false;
};

/// Of a segment with a tile. `block`: the block's number within the segment, in the text.
KernelDraft draft_tiles(const Region& region, const Segment& segment, const KernelPlan& plan,
                        const std::string& block);

}  // namespace soapstone::gpu
