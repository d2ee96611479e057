// What a configuration of an engine of cuDNN says of itself, on whatever device.
#pragma once

#include <optional>

#include "gpu/libraries/cudnn_graph.h"

namespace soapstone::gpu {

struct CudnnProposal {
  std::size_t workspace_bytes = 0;
  int parts = 1;  ///< Into so many a sum is divided, whose results are added afterwards.
  /// Of a block; none: the engine is compiled already, and does not say it.
  std::optional<int> shared_bytes;
};

/// Sizes of tiles are numbers of cuDNN's own that nobody can tell from outside, and there is no
/// time. Errors: those of the library.
core::Result<CudnnProposal> proposal_of(const CudnnDescriptor& configuration);

}  // namespace soapstone::gpu
