// The model of a plan for training, as the step that ranks run again and again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/cut_model.h"
#include "jobs/run/run_model.h"

namespace soapstone::jobs {

/// The inputs of a step beside data, and which result takes the place of which input behind it.
/// Tensors are of the step's graph.
struct PreparedTraining {
  core::TensorId loss;
  core::TensorId rate;  ///< An f32 scalar.
  core::TensorId step;  ///< The number of the step, an i64 scalar; none if nothing counts steps.
  std::map<core::TensorId, core::TensorId> replaced;  ///< As PlannedCuts has it.
  std::set<core::TensorId> weights;                   ///< Results that are updated weights.
  double learning_rate = 0;
  std::int64_t steps_before = 0;  ///< Steps of the run that this one goes on from.
};

/// Makes `model`, which has its loss, the model of its step: states of the optimizer begin with
/// zeros. `whole` is the step with all that ranks hold as inputs.
PreparedTraining become_step(const CutTraining& training, RunModel& model);

/// Data of a run, batch by batch; the first step takes the first batch, and when all were taken the
/// first follows again. By batch and input of `data`, which are inputs of `graph`. An array of
/// the archive is a batch, or has a dimension more in front, for several. Without an archive there
/// is one batch of random numbers. Errors: kInvalidInput if an array is missing, has another type
/// or shape, or if numbers of batches differ.
core::Result<std::vector<std::vector<core::Literal>>>
batches_of(const core::Graph& graph, const std::vector<core::TensorId>& data,
           const std::string& path, std::uint64_t seed);

}  // namespace soapstone::jobs
