// Descriptors of cuDNN for the tensors and operations of a launch.
#pragma once

#include <vector>

#include "gpu/forms/operation_graph.h"
#include "gpu/libraries/cudnn.h"

namespace soapstone::gpu {

struct CudnnOperations {
  std::vector<CudnnDescriptor> tensors;  ///< Parallel to those of the graph; so are their ids.
  std::vector<CudnnDescriptor> parts;    ///< Operations, and what they are described by.
  std::vector<void*> operations;         ///< The operations among the parts, in order.
};

/// Errors: kUnsupported, with cuDNN's words, for operations, shapes and types that it refuses.
core::Result<CudnnOperations> make_operations(const Cudnn& cudnn, const OperationGraph& graph);

}  // namespace soapstone::gpu
