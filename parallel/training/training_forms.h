// From a network as it runs in inference to the one that is trained.
#pragma once

#include <map>
#include <vector>

#include "parallel/training/training_step.h"

namespace soapstone::parallel {

struct TrainedForm {
  core::Graph graph;  ///< Nodes and tensors that are still there keep their numbers.
  /// Running statistics, which the new graph reads only to replace them.
  std::vector<CarriedTensor> carried;
};

/// Operators that compute something else in training become that: a batch norm of running
/// statistics one of the batch's own. `momenta`: the share of a running statistic that a step
/// keeps, by the first result of its node; where none is given it is 0.9.
/// Errors: kInvalidInput if a running statistic is no constant or input.
core::Result<TrainedForm> in_training(const core::Graph& graph,
                                      const std::map<core::TensorId, double>& momenta = {});

}  // namespace soapstone::parallel
