// The steps behind a product by our own loops, for kernels whose product lies in memory by itself:
// one pass over it for all steps, whatever their operands repeat.
#pragma once

#include <memory>
#include <vector>

#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {

class StepsBehind {
 public:
  /// Precondition: the launch has an epilogue. Errors: what the loops cannot compute.
  static core::Result<StepsBehind> make(const KernelRequest& request);

  /// `product`: the head's result, which may lie where the launch's result will. `held` and
  /// `given`: the launch's inputs.
  core::Status run(const std::byte* product, const Inputs& held, runtime::HostInputs given,
                   runtime::HostOutputs outputs);

 private:
  explicit StepsBehind(std::unique_ptr<runtime::HostKernel> loops) : loops_(std::move(loops)) {}

  std::unique_ptr<runtime::HostKernel> loops_;
  std::vector<std::size_t> operands_;  // numbers among the launch's inputs
  std::vector<runtime::DeviceAddress> addresses_;
};

}  // namespace soapstone::cpu
