// How much more a generated kernel moves than the bytes that it needs.
#pragma once

#include "runtime/generated/kernel_plan.h"

namespace soapstone::gpu {

/// Bytes of sectors of which warps need a part only, over all reads and stores of the kernel.
double excess_bytes(const runtime::generated::Region& region,
                    const runtime::generated::KernelPlan& plan);

}  // namespace soapstone::gpu
