// The model that a plan is of, with values for its weights and inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/plan/planned_model.h"
#include "runtime/execution/fold.h"

namespace soapstone::jobs {

/// A built-in network has the weights that build-model gives it.
struct RunModel {
  MarkedModel planned;  ///< As plans see it.
  core::Graph whole;    ///< The same with weights as constants: what one device runs.
  /// Values of the weights of `planned`.
  std::map<core::TensorId, core::LiteralPtr> weights;
  /// Inputs of `planned` that are no weights, in the order of the inputs of `whole`.
  std::vector<core::TensorId> data;
};

/// Inputs of a model that are no weights.
std::vector<core::TensorId> data_of(const MarkedModel& model);

/// `backend` computes weights that are computed from constants. Errors: those of
/// load_planned_model(); kUnsupported if the model does not fit into the limits on memory and work.
core::Result<RunModel> load_run_model(const PlannedModelRequest& request, runtime::Backend& backend,
                                      const Context& context);

/// One literal an input of `whole`: from an archive, or random ones if `path` is empty. Errors:
/// those of read_inputs().
core::Result<std::vector<core::Literal>> inputs_of_run(const RunModel& model,
                                                       const std::string& path, std::uint64_t seed);

}  // namespace soapstone::jobs
