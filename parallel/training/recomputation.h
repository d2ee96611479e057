// Decides which results of the forward pass the backward pass reads, and which it computes again.
#pragma once

#include <map>
#include <set>

#include "parallel/training/training_step.h"

namespace soapstone::parallel {

class Recomputation {
 public:
  /// Borrows all three. Nodes of `forward` are those of the builder, with the same numbers.
  Recomputation(core::GraphBuilder& builder, const core::Graph& forward,
                const TrainingOptions& options);

  /// What a node of the backward pass reads in place of a tensor: itself, or a copy that is
  /// computed from what is kept. A copy is made once.
  core::TensorId operand(core::TensorId tensor);

  /// Every node that computes something again.
  const std::vector<core::NodeId>& nodes() const { return nodes_; }

 private:
  bool is_kept(core::TensorId tensor) const;

  core::GraphBuilder& builder_;
  const core::Graph& forward_;
  const std::vector<bool>& saved_;  ///< As in TrainingOptions.
  std::map<core::TensorId, core::TensorId> copies_;
  std::vector<core::NodeId> nodes_;
};

}  // namespace soapstone::parallel
