// How the loops of a node meet its weights: which run over experts, which over outputs, and whether
// a sample meets the weights at many positions. Named strategies tell nodes apart by that.
#pragma once

#include "parallel/work/origins.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

class WeightLoops {
 public:
  /// All must outlive this.
  WeightLoops(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
              const StepWork& work);

  bool has_weight() const;
  /// Of a contraction: the size of a loop that a weight and data both follow, so that each expert
  /// has its own; 0 if there is none.
  std::int64_t experts() const;
  bool is_over_experts(std::size_t loop) const;
  /// A contraction with a weight that a sample meets once, as in a fully connected layer.
  bool meets_once() const;
  /// A sample meets the weight at many positions, as in a convolution.
  bool meets_often() const;
  bool is_over_outputs(std::size_t loop) const;

 private:
  /// A weight, or one that is read through views.
  bool is_weight(core::TensorId id) const;
  bool is_weight(const ops::LoopPlace& place) const {
    return is_weight(node_.inputs[place.tensor]);
  }
  bool follows_weight(const ops::Loop& loop) const;
  bool follows_data(const ops::Loop& loop) const;
  bool has_positions() const;

  const core::Graph& graph_;
  const core::Node& node_;
  const NodeWork& own_;
  const StepWork& work_;
  const std::vector<ops::Loop>& loops_;
  const std::vector<Origin>& origins_;
};

}  // namespace soapstone::parallel
