// How much memory a GPU of a stage of a described plan takes.
#pragma once

#include "parallel/described/described_plan.h"
#include "parallel/described/stage_times.h"

namespace soapstone::parallel {

/// Bytes of one GPU, as tools of the driver show them: what the framework reserves and holds
/// beside tensors included.
struct DescribedMemory {
  double parameter_bytes = 0, gradient_bytes = 0;
  double state_bytes = 0;    ///< Adam's two.
  double saved_bytes = 0;    ///< All microbatches under way have some.
  double working_bytes = 0;  ///< Gradients of what one layer saved, while its backward pass runs.
  double bucket_bytes = 0;   ///< Copies of gradients that are summed together.
  double fragment_bytes = 0;
  double framework_bytes = 0;  ///< Context and communicators.

  double total_bytes() const {
    return parameter_bytes + gradient_bytes + state_bytes + saved_bytes + working_bytes +
           bucket_bytes + fragment_bytes + framework_bytes;
  }
};

/// `sizes` of the stage.
DescribedMemory described_memory(const DescribedPlan& plan, const StageSizes& sizes,
                                 std::size_t stage);

/// How many microbatches of a stage are under way at most.
std::int64_t microbatches_under_way(const DescribedPlan& plan, std::size_t stage);

}  // namespace soapstone::parallel
