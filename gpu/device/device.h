// One GPU as runtime/ knows devices: memory, a queue that is a stream, a stopwatch of two events,
// and kernels that are functions of loaded modules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/driver/driver.h"
#include "gpu/text/kernel_text.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/queue.h"

namespace soapstone::gpu {

/// The context of a device. Everything else here keeps it alive.
class Device {
 public:
  /// Errors: kUnavailable, of the driver.
  static core::Result<std::shared_ptr<const Device>> open(Driver driver, DeviceFacts facts);
  /// Use open().
  Device(Driver driver, DeviceFacts facts) : driver_(std::move(driver)), facts_(std::move(facts)) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// The driver's functions, for the calling thread. Errors: kUnavailable.
  core::Result<const Driver*> use() const;
  /// The same where nobody can be told of an error.
  const Driver& release() const;
  const DeviceFacts& facts() const { return facts_; }

 private:
  Driver driver_;
  DeviceFacts facts_;
  DriverHandle context_ = nullptr;
};
using DevicePtr = std::shared_ptr<const Device>;

class GpuMemory final : public runtime::DeviceMemory {
 public:
  explicit GpuMemory(DevicePtr device) : device_(std::move(device)) {}
  core::Result<runtime::DeviceAddress> allocate(std::size_t bytes) override;
  void release(runtime::DeviceAddress address) override;
  core::Status copy_in(runtime::DeviceAddress to, std::span<const std::byte> from) override;
  core::Status copy_out(runtime::DeviceAddress from, std::span<std::byte> to) override;
  core::Status copy(runtime::DeviceAddress from, runtime::DeviceAddress to,
                    std::size_t bytes) override;

 private:
  DevicePtr device_;
};

/// A stream; its kernels are GpuKernels.
class GpuQueue final : public runtime::Queue {
 public:
  /// Errors: kUnavailable.
  static core::Result<std::unique_ptr<runtime::Queue>> make(DevicePtr device);
  /// Use make().
  GpuQueue(DevicePtr device, DriverHandle stream) : device_(std::move(device)), stream_(stream) {}
  ~GpuQueue() override;
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;

  void enqueue(std::span<const runtime::KernelCall> calls) override;
  core::Status wait() override;
  std::unique_ptr<runtime::Stopwatch> make_stopwatch() override;
  core::Result<std::unique_ptr<runtime::Recording>>
  record(std::vector<runtime::KernelCall> calls) override;
  void replay(runtime::Recording& recording) override;
  /// Remembers the first error since the last wait().
  void note(const core::Status& status, const std::string& where = {});
  const Device& device() const { return *device_; }
  const DevicePtr& shared_device() const { return device_; }
  DriverHandle stream() const { return stream_; }

 private:
  DevicePtr device_;
  DriverHandle stream_;
  std::optional<core::Error> failed_;
};

}  // namespace soapstone::gpu
