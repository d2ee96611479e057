// The ONNX nodes of a model as they were read, each with the subgraph that its reader made of it.
// If that subgraph is still there when the model is written, the node is written as it was.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/literal.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// One ONNX node, in ids of the graph that was imported.
struct OriginalNode {
  onnx::NodeProto proto;
  std::vector<core::TensorId> inputs;    ///< In the order of the proto; none if left out.
  std::vector<core::LiteralPtr> values;  ///< Values of the inputs that were known when it was read.
  std::vector<core::TensorId> results;   ///< In the order of the proto; none if left out.
  std::vector<core::NodeId> nodes;       ///< The nodes that its reader appended, ascending.
};

struct OriginalNodes {
  core::Graph imported;
  std::vector<OriginalNode> nodes;
};

/// An original node whose meaning a part of another graph still is, in ids of that graph.
struct WrittenNode {
  const OriginalNode* original = nullptr;
  /// None: left out, or the constant that the original has there.
  std::vector<core::TensorId> inputs;
  /// In the order of the proto; none if left out, or not made by `result`.
  std::vector<core::TensorId> results;
  core::NodeId result;              ///< The node whose outputs are its results.
  std::vector<core::NodeId> nodes;  ///< All that it stands for, `result` among them.
};

/// A plan for writing a graph: which nodes are written as they were read, and which are needed
/// besides.
class OriginalPlan {
 public:
  /// `originals` may be null: then nothing is written as it was read. Both have to outlive this.
  OriginalPlan(const core::Graph& graph, const OriginalNodes* originals);

  /// The original that produces the results of the node; null if the node is written by itself.
  const WrittenNode* at(core::NodeId id) const;
  /// False: only originals stand for it, or nobody reads it.
  bool is_needed(core::NodeId id) const { return needed_[id.index()]; }

 private:
  void find(const core::Graph& graph, const OriginalNodes& originals);
  bool drop_unfoldable(const core::Graph& graph);
  void mark_needed(const core::Graph& graph);

  std::vector<WrittenNode> written_;
  std::vector<std::size_t> at_;  // by node: one past the index into written_; 0: none
  std::vector<bool> needed_;     // by node
};

/// See models/onnx/format/onnx_model.h.
std::vector<core::NodeId> constants_within_originals(const core::Graph& graph,
                                                     const OriginalNodes& originals);

}  // namespace soapstone::models
