// What no step on meshes goes below, whatever the strategy: every operator takes its turn in each
// microbatch, and none is cut into more parts than there are devices.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parallel/sharding/part_times.h"
#include "parallel/work/compute_rates.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

struct StepBound {
  double us = 0;
  /// Its parts: to start kernels, for arithmetic, and for passes over memory, updates included.
  double launches_us = 0, arithmetic_us = 0, traffic_us = 0;
  /// The rest: to exchange what has to be exchanged, or to avoid that.
  double exchanges_us = 0;

  /// The largest of these: `launches`, `arithmetic`, `traffic` or `exchanges`.
  std::string_view binding() const;
};

/// Some of the devices are alike.
struct BoundedKind {
  ComputeRates rates;
  double devices = 0;
  double slowness = 1;  ///< As in step_time.h, for passes: how stages on that kind are timed.
};

struct StepBoundInput {
  const core::Graph& graph;
  /// What a plan may do in a step: as it is, or with attention computed again. Not empty.
  std::vector<const StepWork*> works;
  std::vector<BoundedKind> kinds;  ///< The first one is the slowest, whose slowness is 1.
  const PartTimes* part_times = nullptr;
  /// Bytes that an update moves for each byte of a weight; none: there are no updates.
  std::optional<double> updated_bytes;
};

/// In a pipeline of s stages, the slowest has at least 1/s of the work and runs it as often as
/// there are microbatches and stages to fill, over the pieces of a stage: as if all operators ran
/// in turn, in one microbatch, each on all devices. Or, if that is more: all contractions, each
/// device at its best rate.
StepBound step_bound(const StepBoundInput& input);

struct PassesBound {
  double forward_us = 0, backward_us = 0;
};
/// Every operator takes its turn, on all devices of `input`; without updates.
PassesBound passes_bound(const StepBoundInput& input);

}  // namespace soapstone::parallel
