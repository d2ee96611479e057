// Two kernels, one after the other, that are one launch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device/gpu_kernel.h"

namespace soapstone::gpu {

/// A kernel, and where it finds its inputs among those of the launch; none: it is the result of the
/// first kernel.
struct PairedKernel {
  std::unique_ptr<GpuKernel> kernel;
  std::vector<std::optional<std::size_t>> inputs;
};

/// The result of `first`, of so many bytes, lies in the scratch memory of the launch; that of
/// `second` is the launch's. `name` is what implementation() answers.
std::unique_ptr<GpuKernel> make_pair_of_kernels(PairedKernel first, PairedKernel second,
                                                std::size_t bytes, std::string name);

}  // namespace soapstone::gpu
