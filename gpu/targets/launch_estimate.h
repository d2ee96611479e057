// How long launches would take on a GPU that is not here, from what their kernels are: how many
// blocks, how many of them a multiprocessor holds, how much they move and compute.
#pragma once

#include <memory>

#include "core/graph/graph.h"
#include "gpu/libraries/cudnn.h"
#include "gpu/targets/target.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::gpu {

/// Blocks of so many threads that a multiprocessor holds at once; 0: not one. Source: NVIDIA's
/// occupancy calculator: registers are handed out to warps in pieces of 256, in four quarters.
int resident_blocks(const Target& target, const KernelResources& resources, int threads);

/// The least that a launch does.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// Safe from several threads.
class LaunchEstimator {
 public:
  /// `cache`: where compiled kernels are kept. `cudnn`: whose heuristics are asked; null: none.
  LaunchEstimator(const Target& target, std::filesystem::path cache,
                  std::shared_ptr<const Cudnn> cudnn = nullptr);
  ~LaunchEstimator();

  /// Microseconds. A generated kernel is compiled for the device, for its registers; a contraction
  /// is taken for a library's, in the tiles that suit it best, unless the libraries have none.
  double launch_us(const core::Graph& graph, const runtime::Launch& launch, const Work& work);
  double copy_us(double bytes) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace soapstone::gpu
