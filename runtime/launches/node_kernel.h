// How a backend runs single nodes.
#pragma once

#include <string>

#include "runtime/launches/backend.h"

namespace soapstone::runtime {

/// The implementation of the kernel for a node alone, between tensors that lie as the kernel likes
/// best: "oneDNN jit:avx512_core", "reference". Errors: those of Backend::compile().
/// Precondition: shapes are known.
core::Result<std::string> implementation_of(const core::Graph& graph, core::NodeId node,
                                            Backend& backend);

}  // namespace soapstone::runtime
