// Goes backward through a network and appends the gradients that the weights need.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/training/recomputation.h"

namespace soapstone::parallel {

/// What depends on the weights through operators on real numbers.
class Sensitivity {
 public:
  void add(core::TensorId tensor) { tensors_.insert(tensor); }
  /// Results of the node that are real are sensitive if an input is.
  void pass(const core::GraphBuilder& builder, const core::Node& node);
  bool contains(core::TensorId tensor) const { return tensors_.contains(tensor); }

 private:
  std::set<core::TensorId> tensors_;
};

/// The node whose turn it was when a node was appended, by that node; none for those that were
/// there.
using GradientOrigins = std::map<core::NodeId, core::NodeId>;

/// The derivatives of `loss` by all sensitive tensors that no node computes, from nodes in
/// topological order. Where a tensor is read several times the derivatives are added.
/// Errors: kUnsupported if a derivative passes an opaque node or one of unknown shape.
core::Result<std::map<core::TensorId, core::TensorId>>
append_backward(core::GraphBuilder& builder, std::span<const core::NodeId> nodes,
                core::TensorId loss, const Sensitivity& sensitivity, Recomputation& recomputation,
                GradientOrigins& origins);

}  // namespace soapstone::parallel
