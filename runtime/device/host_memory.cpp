// See host_memory.h.
#include "runtime/device/host_memory.h"

#include <cstdlib>
#include <cstring>

#include "core/base/large_pages.h"

namespace soapstone::runtime {
namespace {

DeviceAddress address_of(const std::byte* data) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(data));
}

}  // namespace

core::Result<DeviceAddress> HostMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return DeviceAddress();
  constexpr std::size_t kAlignment = 64;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (!data) {
    return core::unavailable("no memory for " + std::to_string(bytes) + " bytes of tensors",
                             "--max-memory GIB allows more; else use a smaller batch or another "
                             "machine");
  }
  core::prefer_large_pages({data, rounded});
  std::memset(data, 0, rounded);
  return address_of(data);
}

void HostMemory::release(DeviceAddress address) { std::free(host_pointer(address)); }

core::Status HostMemory::copy_in(DeviceAddress to, std::span<const std::byte> from) {
  std::memcpy(host_pointer(to), from.data(), from.size());
  return core::Done{};
}

core::Status HostMemory::copy_out(DeviceAddress from, std::span<std::byte> to) {
  if (to.data() != host_pointer(from)) std::memcpy(to.data(), host_pointer(from), to.size());
  return core::Done{};
}

core::Status HostMemory::copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) {
  std::memcpy(host_pointer(to), host_pointer(from), bytes);
  return core::Done{};
}

core::Result<DeviceBlock> HostMemory::share(std::span<const std::byte> bytes) {
  return DeviceBlock::borrowed(address_of(bytes.data()));
}

core::Result<DeviceBlock> HostMemory::share_to_write(std::span<std::byte> bytes) {
  return DeviceBlock::borrowed(address_of(bytes.data()));
}

core::Result<HostBytes> HostMemory::hand_over(DeviceBlock block, std::size_t bytes) {
  const std::shared_ptr<std::byte> data(host_pointer(block.detach()), std::free);
  return HostBytes{data, {data.get(), bytes}};
}

}  // namespace soapstone::runtime
