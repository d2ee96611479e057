// A plan that is ready to run: the model with its values, and the program of each rank.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/run_model.h"
#include "jobs/run/run_plan.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

/// A result of the model.
struct RunResult {
  core::TensorId tensor;  ///< Of the graph that was planned.
  std::string name;
  core::TensorType type;
  bool has_cut_sums = false;  ///< A sum on the way to it is cut.
};

struct PreparedRun {
  parallel::PlanDocument plan;
  parallel::Topology topology;
  RunModel model;
  std::vector<core::Literal> inputs;  ///< By input of the whole model.
  std::vector<parallel::RankProgram> programs;
  std::vector<RunResult> results;
  std::vector<std::string> names;  ///< By tensor of the graph that was planned.

  /// Forgets the graphs of the model and its weights, once each rank has its pieces.
  void drop_model();
};

/// Errors: those of run_plan(), but for what happens while it runs.
core::Result<parallel::PlanDocument> read_plan(const RunPlanRequest& request);
core::Result<PreparedRun> prepare_run(const RunPlanRequest& request, parallel::PlanDocument plan,
                                      const Context& context);

/// Runs the programs in the prime field, if the model is small enough. Errors: kInternal if they do
/// not compute the model.
core::Result<ProgramCheck> check_prepared(const PreparedRun& prepared, const Context& context);

/// By input of the rank's program: its piece of a weight, or null. The same of inputs of the model.
std::vector<core::LiteralPtr> weight_pieces(const PreparedRun& prepared, std::size_t rank);
std::vector<core::LiteralPtr> input_pieces(const PreparedRun& prepared, std::size_t rank);

}  // namespace soapstone::jobs
