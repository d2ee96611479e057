// See device_memory.h.
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

core::Result<DeviceBlock> DeviceMemory::share(std::span<const std::byte> bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(DeviceBlock block, DeviceBlock::allocate(*this, bytes.size()));
  if (!bytes.empty()) SOAPSTONE_RETURN_IF_ERROR(copy_in(block.address(), bytes));
  return block;
}

core::Result<DeviceBlock> DeviceMemory::share_to_write(std::span<std::byte> bytes) {
  return DeviceBlock::allocate(*this, bytes.size());
}

core::Result<HostBytes> DeviceMemory::hand_over(DeviceBlock block, std::size_t bytes) {
  return read(block.address(), bytes);
}

core::Result<HostBytes> DeviceMemory::read(DeviceAddress from, std::size_t bytes) {
  if (bytes == 0) return HostBytes{};
  std::shared_ptr<std::byte[]> host = std::make_unique_for_overwrite<std::byte[]>(bytes);
  SOAPSTONE_RETURN_IF_ERROR(copy_out(from, {host.get(), bytes}));
  return HostBytes{host, {host.get(), bytes}};
}

core::Result<DeviceBlock> DeviceBlock::allocate(DeviceMemory& memory, std::size_t bytes) {
  DeviceBlock block;
  if (bytes == 0) return block;
  SOAPSTONE_ASSIGN_OR_RETURN(block.address_, memory.allocate(bytes));
  block.memory_ = &memory;
  return block;
}

DeviceBlock DeviceBlock::borrowed(DeviceAddress address) {
  DeviceBlock block;
  block.address_ = address;
  return block;
}

DeviceBlock::~DeviceBlock() {
  if (memory_) memory_->release(address_);
}

DeviceAddress DeviceBlock::detach() {
  CHECK(memory_ || !address_, "a borrowed block cannot be given away");
  memory_ = nullptr;
  return std::exchange(address_, DeviceAddress());
}

}  // namespace soapstone::runtime
