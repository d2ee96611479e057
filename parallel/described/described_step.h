// A step of a described plan, simulated task by task: passes in the order of 1F1B, handovers that
// hold both stages until they are done, sums of gradients behind the last pass of the slowest
// replica, updates. How much memory each stage takes.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "parallel/described/described_memory.h"
#include "parallel/described/described_plan.h"
#include "parallel/described/profiles.h"
#include "parallel/simulation/step_simulation.h"

namespace soapstone::parallel {

struct DescribedStageOutcome {
  std::size_t slowest_replica = 0;  ///< The one that computes for longest; times are its own.
  double compute_s = 0, sum_s = 0, update_s = 0;
  double handover_s = 0;  ///< Over the network and gathering in the node.
  double waiting_s = 0;   ///< The rest of the step.
  DescribedMemory memory;
  std::string smallest_device;  ///< The stage's device with the least memory.
  double device_bytes = 0;      ///< The memory of that device.

  bool fits() const { return memory.total_bytes() <= device_bytes; }
};

struct DescribedOutcome {
  DescribedPlan plan;
  double iteration_s = 0;
  std::size_t last_stage =
      0;  ///< The one that ends the step; of several, the one that waits least.
  std::vector<DescribedStageOutcome> stages;
  SimulatedStep step;  ///< A lane for each stage of replicas that are not alike.
  std::int64_t told_microbatches =
      0;  ///< `step` has so many: fewer than all where all are too many.

  bool fits() const;
  double peak_bytes() const;  ///< The fullest GPU's.
};

/// After D. Narayanan et al., arXiv 2104.04473, section 2.2 (the schedule), and the instructions of
/// DeepSpeed's pipeline engine (the order of handovers). A step of too many passes to be simulated
/// is continued at the pace of its last microbatches. Errors: those of stage_times() and of
/// between_nodes_s(), with the place in the plan; kUnsupported if stages and replicas that are not
/// alike are too many.
core::Result<DescribedOutcome> simulate_described(const DescribedPlan& plan,
                                                  const Profiles& profiles);

}  // namespace soapstone::parallel
