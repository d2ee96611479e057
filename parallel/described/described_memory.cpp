// See described_memory.h.
#include "parallel/described/described_memory.h"

#include <algorithm>

namespace soapstone::parallel {

std::int64_t microbatches_under_way(const DescribedPlan& plan, std::size_t stage) {
  return std::min(plan.microbatches, static_cast<std::int64_t>(plan.stages.size() - stage));
}

DescribedMemory described_memory(const DescribedPlan& plan, const StageSizes& sizes,
                                 std::size_t stage) {
  constexpr double kMegabyte = 1e6;
  const DescribedFramework& framework = plan.framework;
  const auto samples = static_cast<double>(plan.microbatch);
  std::int64_t gpus = 0;
  for (const DescribedStage& each : plan.stages)
    gpus += each.tensor_parallel * static_cast<std::int64_t>(each.devices.size());
  DescribedMemory memory;
  memory.parameter_bytes = memory.gradient_bytes = sizes.parameter_bytes;
  memory.state_bytes = 2 * sizes.parameter_bytes;
  memory.saved_bytes =
      sizes.saved_bytes * samples * static_cast<double>(microbatches_under_way(plan, stage));
  memory.working_bytes = sizes.largest_saved_bytes * samples;
  if (sizes.parameters > 0)
    memory.bucket_bytes =
        sizes.parameter_bytes * std::min(1.0, framework.bucket_elements / sizes.parameters);
  memory.fragment_bytes = framework.fragmentation * (memory.saved_bytes + memory.working_bytes);
  const double groups = gpus == 1 ? 0 : static_cast<double>(framework.communicators);
  memory.framework_bytes = (framework.context_mb + groups * framework.communicator_mb) * kMegabyte;
  return memory;
}

}  // namespace soapstone::parallel
