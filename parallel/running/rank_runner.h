// Runs the program of one rank: its graphs on a backend, its exchanges over collectives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/literal.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/running/value_pool.h"
#include "runtime/collectives/collectives.h"
#include "runtime/execution/executor.h"

namespace soapstone::parallel {

/// When a step of the program ran, in microseconds since the run began.
struct RankStepTime {
  double start_us = 0, end_us = 0;
};

/// Values lie in the memory of the host, and leave it after their last use; what was sent at the
/// end of the run.
class RankRunner {
 public:
  /// `fixed`: by input of the program the value that it has in every run, or null. Kernels hold
  /// these in the layouts that they like best. Graphs that are equal are compiled once. `backend`
  /// and `program` must outlive the result. Errors: those of Executable::make().
  static core::Result<RankRunner> make(const RankProgram& program,
                                       const std::vector<core::LiteralPtr>& fixed,
                                       runtime::Backend& backend, runtime::Fusion fusion);

  /// Makes the groups of ranks that the program needs. Each rank of the program calls it, once and
  /// before run(). `all` are its ranks, on memory of the host, and must outlive this. Errors: those
  /// of subset().
  core::Status connect(runtime::Collectives& all);

  /// `inputs`: by input of the program its value, null if it is fixed. Results are parallel to the
  /// program's outputs. What the caller does not hold, too, is left as soon as nothing reads it any
  /// more. Precondition: all ranks are connected and run. Errors: those of running
  /// graphs, which the others do not know of, and kUnavailable if an exchange fails.
  core::Result<std::vector<core::LiteralPtr>> run(std::vector<core::LiteralPtr> inputs);

  /// Times of the last run, by step of the program.
  std::span<const RankStepTime> times() const { return times_; }
  /// The most bytes at once, over all runs: of values, of weights and of what graphs work in.
  std::size_t peak_bytes() const {
    return std::max(most_live_bytes_, pool_->bytes()) + weight_bytes_ + working_->bytes();
  }
  /// Launches on the slow reference kernel, of all graphs: node, and why faster kernels refused.
  std::vector<std::pair<std::string, std::string>> reference_kernels() const;

 private:
  /// A graph that was compiled, and which values it is given and gives.
  struct Compiled {
    std::size_t executable = 0;
    std::vector<RankValueId> inputs, outputs;
    std::vector<RankValueId> dead_inputs;  ///< What nothing reads behind it.
  };
  RankRunner(const RankProgram& program, const std::vector<core::LiteralPtr>& fixed);

  core::Status compile_all(runtime::Backend& backend, runtime::Fusion fusion);
  void find_last_uses();
  core::Status run_step(std::size_t number);
  core::Status compute(const Compiled& compiled);
  core::Status exchange(const MessageStep& step);
  core::Status reduce(const AllReduceStep& step);
  void set(RankValueId id, core::LiteralPtr value);
  void drop(RankValueId id);

  const RankProgram* program_;
  std::map<RankValueId, core::LiteralPtr> fixed_;
  std::unique_ptr<runtime::WorkingMemory> working_;  ///< Of all executables, in turn.
  std::vector<runtime::Executable> executables_;
  std::vector<std::size_t> covered_;             ///< By step: how many steps run with it.
  std::vector<std::vector<Compiled>> compiled_;  ///< By step: the graphs that begin with it.
  runtime::DeviceMemory* memory_ = nullptr;
  std::unique_ptr<ValuePool> pool_;
  std::vector<std::vector<RankValueId>> dead_after_;  ///< By step.
  std::vector<RankValueId> dead_at_end_;              ///< Results, and what is sent.
  std::vector<core::LiteralPtr> values_;              ///< By value; null: not there.
  runtime::Collectives* all_ = nullptr;
  std::map<std::vector<std::int64_t>, std::unique_ptr<runtime::Collectives>> groups_;
  std::vector<RankStepTime> times_;
  std::size_t live_bytes_ = 0, most_live_bytes_ = 0, weight_bytes_ = 0;
};

}  // namespace soapstone::parallel
