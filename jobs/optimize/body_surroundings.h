// NaN and infinities in a body, as the graph around it shows them.
#pragma once

#include "core/graph/graph.h"
#include "models/onnx/bodies.h"
#include "ops/ranges/special_values.h"

namespace soapstone::jobs {

/// `graph`: the one that the body's node is in, with its own surroundings; `body_graph`: the body's
/// model as it was read. Every result matters; an input may be special if the tensor that it comes
/// from may be, or if an iteration may make it so.
ops::Surroundings surroundings_of(const models::Body& body, const core::Graph& body_graph,
                                  const core::Graph& graph, const ops::Surroundings& around);

}  // namespace soapstone::jobs
