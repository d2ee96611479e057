// The part of one rank in a run: it takes its pieces, compiles, runs and tells the first rank.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/result_check.h"
#include "parallel/running/rank_runner.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

/// The first rank knows this of all when they have run.
struct RanksOutcome {
  std::vector<double> step_us;  ///< By timed run.
  std::size_t chosen = 0;       ///< The run that a low quantile of them is.
  std::vector<std::vector<parallel::RankStepTime>> times;  ///< Of that run, by rank.
  std::vector<double> peak_bytes;                          ///< By rank.
  std::size_t reference_kernels = 0;
  std::string reference_kernel;
  std::vector<double> losses;          ///< In training, by step.
  std::vector<ComputedPiece> pieces;   ///< Of the last run, none twice.
  std::vector<ComputedPiece> checked;  ///< If results are checked, all of them, of the first step.
};

/// Called by all ranks. `prepared`: its own, or one that all share; `has_taken` is called once the
/// rank needs nothing of its model any more. The first rank gets the pieces. Errors: as run_plan().
core::Result<RanksOutcome> run_rank(const PreparedRun& prepared, const RunPlanRequest& request,
                                    runtime::Collectives& collectives, const Context& context,
                                    const std::function<void()>& has_taken);

}  // namespace soapstone::jobs
