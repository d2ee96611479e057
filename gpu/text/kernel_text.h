// A whole kernel as C++: a function that NVRTC compiles for a device and, behind a few definitions,
// any C++ compiler for the host.
#pragma once

#include <string>
#include <vector>

#include "gpu/text/tiles.h"

namespace soapstone::gpu {

struct KernelText {
  std::string name;
  std::string source;                     ///< Without the prelude, which several kernels may share.
  std::vector<core::TensorId> arguments;  ///< Inputs, then outputs: pointers to elements.
  std::vector<std::string> parameters;    ///< Their types in the text.
  std::int64_t blocks = 0;                ///< 0: there is nothing to compute.
  int threads = 256;
  bool has_barriers = false;      ///< Threads of a warp or block wait for each other.
  std::int64_t shared_bytes = 0;  ///< Of tiles, in a block.
};

KernelText kernel_text(const Region& region, const KernelPlan& plan, const std::string& name);

}  // namespace soapstone::gpu
