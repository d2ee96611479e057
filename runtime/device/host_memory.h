// The host's own memory as that of a device: an address is a pointer, and nothing is copied that
// can be read where it is. Only backends that run on the host may include this.
#pragma once

#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

/// Precondition: an address of HostMemory.
inline std::byte* host_pointer(DeviceAddress address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): devices count in numbers, the host's are pointers
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address.value()));
}

class HostMemory final : public DeviceMemory {
 public:
  core::Result<DeviceAddress> allocate(std::size_t bytes) override;
  void release(DeviceAddress address) override;
  core::Status copy_in(DeviceAddress to, std::span<const std::byte> from) override;
  core::Status copy_out(DeviceAddress from, std::span<std::byte> to) override;
  core::Status copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override;
  core::Result<DeviceBlock> share(std::span<const std::byte> bytes) override;
  core::Result<DeviceBlock> share_to_write(std::span<std::byte> bytes) override;
  core::Result<HostBytes> hand_over(DeviceBlock block, std::size_t bytes) override;
};

}  // namespace soapstone::runtime
