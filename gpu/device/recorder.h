// A run of kernels as one graph of the driver: captured once, launched as a whole.
#pragma once

#include <memory>
#include <vector>

#include "gpu/device/device.h"

namespace soapstone::gpu {

/// Branches that do not touch each other's bytes run in streams of their own.
inline constexpr std::size_t kMostStreams = 4;

class GpuRecording final : public runtime::Recording {
 public:
  /// Captures the calls, whose kernels are GpuKernels, in `stream` and others beside it.
  /// Errors: kUnavailable, of the driver; those of the kernels name the call.
  static core::Result<std::unique_ptr<runtime::Recording>>
  make(DevicePtr device, DriverHandle stream, std::vector<runtime::KernelCall> calls);
  /// Use make().
  GpuRecording(DevicePtr device, std::vector<runtime::KernelCall> calls)
      : Recording(std::move(calls)), device_(std::move(device)) {}
  ~GpuRecording() override;
  GpuRecording(const GpuRecording&) = delete;
  GpuRecording& operator=(const GpuRecording&) = delete;

  core::Status launch(DriverHandle stream) const;

 private:
  DevicePtr device_;
  std::unique_ptr<GpuMemory> memory_;
  std::vector<runtime::DeviceBlock> scratch_;  // of the streams behind the first
  DriverHandle executable_ = nullptr;
};

}  // namespace soapstone::gpu
