// One rank of a prepared run: its program, compiled, and what it holds from run to run.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/prepared_run.h"
#include "parallel/running/rank_runner.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

/// The quantile of the times of runs that is told: other work of the machine can only make one
/// slower.
inline constexpr double kLowQuantile = 0.2;

class PreparedRank {
 public:
  /// Takes the rank's pieces of the model, which may be dropped then. `prepared` must outlive the
  /// result. Errors: the device is not there; those of RankRunner::make().
  static core::Result<PreparedRank> make(const PreparedRun& prepared, const DeviceRequest& device,
                                         std::size_t rank);

  /// Before the first run(), as RankRunner::connect().
  core::Status connect(runtime::Collectives& all) { return runner_->connect(all); }

  /// Runs the program with the batch of that run; in training a step, whose results take the place
  /// of what they replace. Errors: those of RankRunner::run().
  core::Status run(int number);

  const parallel::RankProgram& program() const { return prepared_->programs[rank_]; }
  const parallel::RankRunner& runner() const { return *runner_; }
  /// Results of the last run, by output of the program.
  const std::vector<core::LiteralPtr>& outputs() const { return outputs_; }

 private:
  PreparedRank(const PreparedRun& prepared, std::size_t rank) : prepared_(&prepared), rank_(rank) {}
  std::vector<core::LiteralPtr> inputs_of(int number);
  void replace();

  const PreparedRun* prepared_;
  std::size_t rank_;
  std::unique_ptr<runtime::Backend> backend_;
  std::optional<parallel::RankRunner> runner_;  // behind the backend, which outlives it
  std::vector<core::LiteralPtr> data_;          ///< Of the batch `batch_`, by input of the program.
  std::size_t batch_ = 0;
  std::vector<core::LiteralPtr> replaced_;  ///< What the last step left, by input of the program.
  std::vector<core::LiteralPtr> outputs_;
};

}  // namespace soapstone::jobs
