// Layers of a model that a plan treats alike, and the model with few of each: what ranks do in one
// of them they do in all, so that a plan of hundreds of layers is checked on some (ADR 67).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::parallel {

/// The model that a plan is of. `is_weight` and `is_kept` by tensor; `is_kept` says which results
/// the backward pass reads instead of computing them again, and is empty if that is all of them.
struct PlannedGraph {
  const core::Graph& graph;
  const std::vector<bool>& is_weight;
  const std::vector<bool>& is_kept;
};

/// Which layers are left out.
struct LeftOutLayers {
  /// Readers of the first tensor read the second one instead, in this order.
  std::vector<std::pair<core::TensorId, core::TensorId>> replaced = {};
  std::vector<core::TensorId> results = {};  ///< Results of the model that are left out, too.
  std::vector<std::int32_t> pieces = {};     ///< By node of the graph, the piece that it is in now.
  std::int64_t stages = 1, chunks = 1;       ///< Of what is left.
  std::size_t nodes = 0;                     ///< That are left out.
};

/// Of layers that follow each other, are the same graph with the same cuts, and are read by the
/// next layer alone, three are left: the first, one that has equal neighbors on both sides, and the
/// last. Pieces of a pipeline that repeat are left out with their layers, down to three stages of
/// three pieces. Precondition: the plan belongs to the graph.
LeftOutLayers repeated_layers(const PlannedGraph& model, const PlanDocument& plan);

/// The graph without them. What is left keeps its numbers. Errors: kInvalidInput if there is no
/// such graph, which is a fault of `left_out`.
core::Result<core::Graph> without_layers(const core::Graph& graph, const LeftOutLayers& left_out);

/// Weights that the graph still reads. `is_weight` by tensor.
std::vector<bool> weights_read(const core::Graph& graph, const std::vector<bool>& is_weight);

/// The plan of the graph `shorter`, which without_layers() made of `graph`. Errors: kInvalidInput
/// if its nodes are not in the order of their pieces.
core::Result<PlanDocument> without_layers(const PlanDocument& plan, const core::Graph& graph,
                                          const core::Graph& shorter,
                                          const std::vector<bool>& is_weight,
                                          const LeftOutLayers& left_out);

}  // namespace soapstone::parallel
