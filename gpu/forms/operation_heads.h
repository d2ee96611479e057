// The operation that a launch begins with, read off the roles that a node's definition states.
#pragma once

#include "gpu/forms/operation_graph.h"

namespace soapstone::gpu {

/// Adds tensors and operations to a graph.
class OperationDraft {
 public:
  OperationDraft(const core::Graph& graph, const TensorLayouts& layouts)
      : graph_(graph), layouts_(layouts) {}

  /// A tensor of the launch with its own shape, as it lies in memory.
  std::uint32_t add_tensor(core::TensorId id);
  std::uint32_t add(GraphTensor tensor);
  std::uint32_t add_number(double value, std::size_t rank);
  /// An intermediate result.
  std::uint32_t add_virtual(core::DataType type, core::Dims dims, core::Dims strides);
  void add(Operation operation) { result_.operations.push_back(std::move(operation)); }
  runtime::Layout layout_of(core::TensorId id) const;
  const core::Graph& graph() const { return graph_; }
  OperationGraph& result() { return result_; }

 private:
  const core::Graph& graph_;
  const TensorLayouts& layouts_;
  OperationGraph result_;
};

/// Appends the operations of the node, whose result becomes the tensor that is returned.
/// Errors: kUnsupported for nodes that are no convolution, pool, reduction or norm, or one that
/// libraries do not have.
core::Result<std::uint32_t> append_head(OperationDraft& draft, core::NodeId node);

}  // namespace soapstone::gpu
