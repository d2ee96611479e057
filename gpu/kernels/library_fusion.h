// What runs in one launch with an einsum on a GPU, for those who grow launches from heads: costs
// that need no card. Backends cover graphs by themselves (cover.h), by the same descriptions.
#pragma once

#include "runtime/launches/launch_plan.h"

namespace soapstone::gpu {

/// As runtime::generic_fusion, but behind an einsum only what a library computes with it.
const runtime::FusionRules& library_fusion(runtime::Fusion fusion);

}  // namespace soapstone::gpu
