// A plan that is ready to run: the model with its values, and the program of each rank.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/run_model.h"
#include "jobs/run/run_plan.h"
#include "jobs/run/step_model.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

/// A result of the model.
struct RunResult {
  core::TensorId tensor;  ///< Of the graph that was planned.
  std::string name;
  core::TensorType type;
  bool has_cut_sums = false;  ///< A sum on the way to it is cut.
  /// Adam divides a gradient by the root of its square, so that rounding of a small gradient moves
  /// a weight by a share of the learning rate. Else 0.
  double accepted_error = 0;
};

struct PreparedRun {
  parallel::PlanDocument plan;
  parallel::Topology topology;
  RunModel model;  ///< In training, of its step.
  std::optional<PreparedTraining> training;
  std::vector<std::vector<core::Literal>> batches;  ///< By batch and input of `model.data`.
  std::vector<std::string> uncut;                   ///< What the plan cuts and the run does not.
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

/// The rank's pieces, by input of its program, of what it holds all the time, or null; of what a
/// step replaces, which is all null in inference; of the data of a batch.
std::vector<core::LiteralPtr> fixed_pieces(const PreparedRun& prepared, std::size_t rank);
std::vector<core::LiteralPtr> replaced_pieces(const PreparedRun& prepared, std::size_t rank);
std::vector<core::LiteralPtr> data_pieces(const PreparedRun& prepared, std::size_t rank,
                                          std::size_t batch);
/// Which batch the run with this number, from 0 on, takes. A run that was resumed takes the one
/// that the interrupted run would have taken.
std::size_t batch_of_run(const PreparedRun& prepared, int number);
/// Inputs of a step that all ranks have alike: its number, from 1 on, and the learning rate.
std::map<core::TensorId, core::LiteralPtr> numbers_of_step(const PreparedTraining& training,
                                                           std::int64_t step);
/// Values that the whole model is given on one device, by input; in training, of the run's first
/// step.
std::vector<core::Literal> whole_inputs(const PreparedRun& prepared);

}  // namespace soapstone::jobs
