// The parts of a graph's nodes as graphs of their own.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "ops/partition/part_regions.h"
#include "parallel/pieces/index_set.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// A graph that computes a part of a node.
struct NodePart {
  core::Graph graph;
  std::vector<std::size_t> inputs;       ///< By input of the graph: the input of the node.
  std::vector<TensorPiece> pieces_read;  ///< By input of the node.
  std::vector<TensorPiece> pieces_made;  ///< By output of the node.
};

class PartGraphs {
 public:
  /// Both must outlive this. `loops` are those of the graph.
  PartGraphs(const core::Graph& graph, const GraphLoops& loops) : graph_(graph), loops_(loops) {}

  /// Makes each part once; it lives as long as this. Nodes that are alike share their parts.
  /// Errors: kUnsupported names the node.
  core::Result<const NodePart*> of(core::NodeId id, const ops::PartBox& box);

 private:
  /// Nodes that are alike share the analysis of their loops; one without any is alike to none.
  using Key = std::pair<const void*, std::vector<std::int64_t>>;
  core::Result<NodePart> made(core::NodeId id, const ops::PartBox& box) const;
  NodePart whole(core::NodeId id) const;

  const core::Graph& graph_;
  const GraphLoops& loops_;
  std::map<Key, NodePart> known_;
};

/// Appends the nodes of a graph, with these tensors in place of its inputs; returns its outputs.
std::vector<core::TensorId> append_graph(core::GraphBuilder& builder, const core::Graph& graph,
                                         const std::vector<core::TensorId>& inputs);

/// Appends a tensor that is computed from constants alone.
core::TensorId append_constant(core::GraphBuilder& builder, const core::Graph& graph,
                               core::TensorId tensor);

}  // namespace soapstone::parallel
