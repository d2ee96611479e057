// Tensors that hold infinities in practice: what is added to scores in front of a softmax.
#pragma once

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// Whether the tensor comes from inputs of the graph, or from a choice by a mask, by moves and
/// operators on elements alone, and gets to a softmax in the same way. A product with zeros would
/// make NaN of its infinities. Complexity: linear in the part of the graph that is looked at.
bool is_mask(const core::Graph& graph, core::TensorId id);

}  // namespace soapstone::transforms
