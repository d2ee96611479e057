// run_plan(): a plan that runs, on ranks that mpirun started or on threads that play them, held to
// what one device computes and to what was simulated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/devices/devices.h"
#include "jobs/plan/planned_model.h"
#include "jobs/run/program_check.h"
#include "jobs/run/result_check.h"
#include "parallel/plans/plan_document.h"
#include "parallel/running/run_figures.h"
#include "parallel/simulation/step_simulation.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

/// How a plan for training is run.
struct TrainingSettings {
  double learning_rate = 1e-3;
  std::string checkpoint;     ///< Path of the .npz archive to write weights and states to.
  int every = 0;              ///< Steps between checkpoints; 0: only at the end.
  std::string resume;         ///< Path of a checkpoint to go on from; empty: none.
  bool drop_dropout = false;  ///< Dropout does nothing; else a model with one is refused.
};

struct RunPlanRequest {
  std::string plan;           ///< Path.
  PlannedModelRequest model;  ///< As it was planned.
  std::string topology;       ///< Name or path; empty: that of the plan, if it is a preset.
  std::string inputs;         ///< Path of an .npz archive; empty: random inputs.
  std::string outputs;        ///< Path of the .npz archive to write; empty: none.
  std::uint64_t seed = 0;     ///< Of random inputs.
  /// Timed runs, after one that warms up; in training, steps, of which all but the first are timed
  /// if there are several.
  int steps = 10;
  TrainingSettings training;  ///< For plans that train.
  /// Results are compared with those of one device: by their bits where no sum is cut and the
  /// device is kReference, whose kernels add in one order whatever the shape; else within
  /// tolerance.
  bool checks = false;
  bool is_virtual = false;  ///< Ranks are threads of this process.
  bool tells_step = false;  ///< The plan's own step is simulated part by part, for pictures.
  /// On which each rank computes.
  DeviceRequest device{.fusion = runtime::Fusion::kGenerated, .costs = {}};
  double time_limit_s = 300;  ///< Most seconds that a rank waits for another one.
};

struct RunPlanOutcome {
  parallel::PlanDocument plan;
  std::vector<double> losses;      ///< In training, by step.
  std::int64_t steps_before = 0;   ///< Steps of the run that this one went on from.
  std::vector<std::string> uncut;  ///< What the plan cuts and the run does not.
  std::string device;              ///< On which each rank computed.
  bool is_virtual = false;
  std::size_t cores = 0;  ///< Of this machine.
  ProgramCheck program_check;
  std::vector<double> step_us;  ///< By timed run: until the last rank ended.
  double low_us = 0;            ///< A low quantile of these, and how far the middle half is apart.
  double spread_us = 0;
  parallel::RunFigures figures;        ///< Of the run that took `low_us`.
  std::vector<double> peak_bytes;      ///< By rank.
  std::size_t reference_kernels = 0;   ///< Launches on them, of all ranks.
  std::string reference_kernel;        ///< One of the first rank, and why it is one.
  std::vector<CheckedResult> results;  ///< Empty: not asked for.
  /// If asked for, or why there is none.
  std::optional<core::Result<parallel::SimulatedStep>> simulated;

  bool is_equal() const;
};

/// The command that would start as many ranks as a plan has devices, for hints.
std::string command_for(const parallel::PlanDocument& plan);

/// `world`: the ranks that mpirun started; null: there are none. All ranks call it, and the first
/// one gets the outcome; for the others it has nothing. Results that differ are an outcome. Errors,
/// the same on all ranks: kInvalidInput: the plan, the model or the inputs are wrong, or do not
/// belong together; kUsage: there are not as many ranks as the plan has devices; kUnsupported: the
/// plan cannot be run; kInternal: its programs do not compute the model; kUnavailable: a rank
/// failed or did not come in time; kInterrupted.
core::Result<RunPlanOutcome> run_plan(const RunPlanRequest& request, runtime::Collectives* world,
                                      const Context& context = {});

}  // namespace soapstone::jobs
