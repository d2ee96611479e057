// A generated kernel in a device's memory, with the constants that it reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/device/gpu_kernel.h"

namespace soapstone::gpu {

/// One of several texts that compute the same.
struct KernelVariant {
  KernelText text;
  std::size_t alignment = 1;  ///< Bytes that all addresses must be multiples of.
};

class GeneratedKernel final : public GpuKernel {
 public:
  /// The first variant that the addresses of a call admit runs; the last one admits all. `name` is
  /// what implementation() answers. Errors: kUnavailable if the device cannot load the binary.
  static core::Result<std::unique_ptr<GpuKernel>> load(DevicePtr device,
                                                       const std::vector<std::byte>& binary,
                                                       std::vector<KernelVariant> variants,
                                                       KernelArguments arguments, std::string name);
  ~GeneratedKernel() override;
  GeneratedKernel(const GeneratedKernel&) = delete;
  GeneratedKernel& operator=(const GeneratedKernel&) = delete;

  std::string implementation() const override { return name_; }
  core::Status launch(const Driver& driver, DriverHandle stream,
                      const runtime::KernelCall& call) override;

 private:
  GeneratedKernel() = default;

  DevicePtr device_;
  DriverHandle module_ = nullptr;
  std::vector<KernelVariant> variants_;
  std::vector<DriverHandle> functions_;  // parallel to variants_
  KernelArguments arguments_;
  std::string name_;
};

}  // namespace soapstone::gpu
