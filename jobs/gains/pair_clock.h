// Times two small graphs as files in a runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "jobs/deployment/worker_timing.h"

namespace soapstone::jobs {

class PairClock {
 public:
  /// Errors: kUnavailable.
  static core::Result<std::unique_ptr<PairClock>> make(Deployment deployment);

  /// "ONNX Runtime 1.31.1, 1 thread"
  std::string runtime() const { return deployment_.description(); }
  /// Both in turn; the ratio is the time of `a` over the time of `b`. The time of a call of the
  /// runtime is in both. None: one of them cannot be written or is nothing that the runtime runs.
  /// Errors: kUnavailable: the runtime fails at one pair after the other; kInterrupted.
  core::Result<std::optional<cost::Comparison>> compare(const core::Graph& a, const core::Graph& b,
                                                        const TurnOptions& options,
                                                        const core::StopToken& stop);

 private:
  PairClock(Deployment deployment, core::PrivateFolder folder,
            std::unique_ptr<runtime::Backend> folding)
      : deployment_(std::move(deployment)), folder_(std::move(folder)),
        folding_(std::move(folding)) {}
  core::Result<std::size_t> load(const core::Graph& graph, const std::string& name);
  core::Result<cost::Comparison> time_both(const core::Graph& a, const core::Graph& b,
                                           const TurnOptions& options, const core::StopToken& stop);

  Deployment deployment_;
  core::PrivateFolder folder_;
  std::unique_ptr<runtime::Backend> folding_;
  int failures_ = 0;  ///< Pairs at which the runtime failed, since the last at which it did not.
};

}  // namespace soapstone::jobs
