// Sums over the nodes and weights of a model of which no step takes less.
#pragma once

#include <vector>

#include "parallel/sharding/sharding.h"
#include "parallel/step/plan.h"
#include "parallel/step/step_time.h"

namespace soapstone::parallel {

/// How a step follows from its parts.
///
/// In a stage, a forward pass takes no less than what is gathered for it, a backward pass no less
/// than what is gathered and scattered beside it, and gradients are summed from the last backward
/// pass on. The slowest stage has at least its share of all.
///
/// If all weights together fill no bucket, passes hide nothing of what is gathered and
/// scattered: all is gathered before the first node runs, and scattered behind the last one.
///
/// A stage waits for those before it at the begin, and they for it at the end: so a step of m
/// microbatches takes at least m times the passes of a stage and once those of the stages before.
/// However s stages share passes that take P in all, that is P / (1 − (1 − 1/m)^s) or more.
class StepSums {
 public:
  /// `position_count`: of an uneven mesh; 1 if it is even.
  StepSums(const MeshShape& shape, bool is_training, bool is_one_bucket,
           const std::vector<Slowness>& slowness, std::size_t position_count);

  /// The weights of parts in sums of which no step takes less.
  const std::vector<StepWeights>& weights() const { return weights_; }

 private:
  void add_hiding(double forward_hidden, double backward_hidden, double summed);
  void add_in_turn(double summed);
  void add_pipeline(double forward_hidden, double backward_hidden);
  void add_positions(std::size_t count);

  const double microbatches_;
  double scale_ = 1, update_scale_ = 1;  ///< For passes and updates.
  double pipeline_scale_ = 1;            ///< For a microbatch's passes through all stages.
  std::vector<StepWeights> weights_;
};

}  // namespace soapstone::parallel
