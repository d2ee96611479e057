// A GPU as a rank among others, by NCCL. One GPU hosts one rank.
#pragma once

#include <chrono>
#include <memory>

#include "gpu/collectives/nccl.h"
#include "gpu/device/device.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::gpu {

struct NcclRankOptions {
  int rank = 0, size = 1;
  NcclId id;
  /// How long the others may take to come, and what was enqueued to be done.
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);
};

/// Enqueues on `queue`, which must outlive it. All ranks call this at the same time, each in a
/// process or thread of its own. Errors: kUnavailable, also if they do not all come in time.
core::Result<std::unique_ptr<runtime::Collectives>>
make_nccl_rank(std::shared_ptr<const Nccl> nccl, GpuQueue& queue, const NcclRankOptions& options);

}  // namespace soapstone::gpu
