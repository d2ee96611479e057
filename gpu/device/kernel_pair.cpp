// See kernel_pair.h.
#include "gpu/device/kernel_pair.h"

#include <algorithm>

#include "runtime/memory/memory_plan.h"

namespace soapstone::gpu {
namespace {

class KernelPair final : public GpuKernel {
 public:
  KernelPair(PairedKernel first, PairedKernel second, std::size_t bytes, std::string name)
      : first_(std::move(first)), second_(std::move(second)), bytes_(runtime::slot_bytes(bytes)),
        name_(std::move(name)) {}

  std::size_t scratch_bytes() const override {
    return bytes_ + std::max(first_.kernel->scratch_bytes(), second_.kernel->scratch_bytes());
  }
  std::string implementation() const override { return name_; }

  core::Status launch(const Driver& driver, DriverHandle stream,
                      const runtime::KernelCall& call) override {
    runtime::KernelCall part;
    part.scratch = call.scratch + bytes_;
    part.inputs = inputs_of(first_, call);
    part.outputs = {call.scratch};
    SOAPSTONE_RETURN_IF_ERROR(first_.kernel->launch(driver, stream, part));
    part.inputs = inputs_of(second_, call);
    part.outputs = call.outputs;
    return second_.kernel->launch(driver, stream, part);
  }

 private:
  static std::vector<runtime::DeviceAddress> inputs_of(const PairedKernel& kernel,
                                                       const runtime::KernelCall& call) {
    std::vector<runtime::DeviceAddress> addresses;
    for (const auto& input : kernel.inputs)
      addresses.push_back(input ? call.inputs[*input] : call.scratch);
    return addresses;
  }

  PairedKernel first_, second_;
  std::size_t bytes_;
  std::string name_;
};

}  // namespace

std::unique_ptr<GpuKernel> make_pair_of_kernels(PairedKernel first, PairedKernel second,
                                                std::size_t bytes, std::string name) {
  return std::make_unique<KernelPair>(std::move(first), std::move(second), bytes, std::move(name));
}

}  // namespace soapstone::gpu
