// Constant expressions computed once, by the kernels of the backend.
#pragma once

#include <map>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/backend.h"

namespace soapstone::runtime {

/// Values of constant expressions that something else reads, or that are graph outputs; results
/// that only other constant expressions read are dropped. Constants with a value are not in it.
using FoldedConstants = std::map<core::TensorId, core::LiteralPtr>;

/// Errors: those of Backend::compile, with the node in `where`; kUnavailable if memory runs out.
core::Result<FoldedConstants> fold_constants(const core::Graph& graph, Backend& backend);

/// Looks a tensor up in the graph's constants, then in `folded`, which must outlive the result.
ConstantValue constant_value(const core::Graph& graph, const FoldedConstants& folded);

}  // namespace soapstone::runtime
