// A generated kernel in a device's memory, with the constants that it reads.
#pragma once

#include <memory>
#include <vector>

#include "gpu/device/device.h"

namespace soapstone::gpu {

/// What a parameter of the text is given.
struct KernelArgument {
  enum class Kind : std::uint8_t { kInput, kOutput, kConstant };
  Kind kind;
  std::size_t number;  ///< Of the call's inputs or outputs, or of the kernel's constants.
};

/// One of several texts that compute the same.
struct KernelVariant {
  KernelText text;
  std::size_t alignment = 1;  ///< Bytes that all addresses must be multiples of.
};

class GpuKernel final : public runtime::Kernel {
 public:
  /// The first variant that the addresses of a call admit runs; the last one admits all.
  /// Errors: kUnavailable if the device cannot load the binary.
  static core::Result<std::unique_ptr<GpuKernel>>
  load(DevicePtr device, const std::vector<std::byte>& binary, std::vector<KernelVariant> variants,
       std::vector<KernelArgument> arguments, std::vector<runtime::DeviceBlock> constants);
  ~GpuKernel() override;
  GpuKernel(const GpuKernel&) = delete;
  GpuKernel& operator=(const GpuKernel&) = delete;

  std::string implementation() const override { return "generated"; }
  core::Status launch(const Driver& driver, DriverHandle stream, const runtime::KernelCall& call);

 private:
  GpuKernel() = default;

  DevicePtr device_;
  DriverHandle module_ = nullptr;
  std::vector<KernelVariant> variants_;
  std::vector<DriverHandle> functions_;  // parallel to variants_
  std::vector<KernelArgument> arguments_;
  std::vector<runtime::DeviceBlock> constants_;
};

}  // namespace soapstone::gpu
