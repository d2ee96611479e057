// Memory of a device that the host cannot address: each access is a copy, and is checked.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "runtime/device/device_memory.h"

namespace soapstone::runtime::test {

class RemoteMemory final : public DeviceMemory {
 public:
  std::size_t capacity = std::size_t{1} << 30;
  bool fails = false;  ///< Copies do.
  std::size_t copies_in = 0;

  core::Result<DeviceAddress> allocate(std::size_t bytes) override {
    if (bytes > capacity) return core::unavailable("the remote device is full");
    const std::uint64_t base = next_;
    next_ += (bytes + 127) / 64 * 64;  // a gap behind each block
    blocks_[base].resize(bytes);
    return DeviceAddress(base);
  }
  void release(DeviceAddress address) override {
    CHECK(blocks_.erase(address.value()) == 1, "not the address of a block");
  }
  core::Status copy_in(DeviceAddress to, std::span<const std::byte> from) override {
    if (fails) return core::unavailable("the remote device is gone");
    ++copies_in;
    std::memcpy(resolve(to, from.size()), from.data(), from.size());
    return core::Done{};
  }
  core::Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    if (fails) return core::unavailable("the remote device is gone");
    std::memcpy(to.data(), resolve(from, to.size()), to.size());
    return core::Done{};
  }
  core::Status copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override {
    std::memcpy(resolve(to, bytes), resolve(from, bytes), bytes);
    return core::Done{};
  }

  /// The device's own view of its memory. CHECKs that all bytes lie in one block.
  std::byte* resolve(DeviceAddress address, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    auto block = blocks_.upper_bound(address.value());
    CHECK(block != blocks_.begin(), "an address before all blocks");
    --block;
    const std::size_t offset = address.value() - block->first;
    CHECK(offset + bytes <= block->second.size(), "bytes that were not allocated");
    return block->second.data() + offset;
  }
  std::size_t live_blocks() const { return blocks_.size(); }
  std::size_t live_bytes() const {
    std::size_t sum = 0;
    for (const auto& [base, bytes] : blocks_) sum += bytes.size();
    return sum;
  }

 private:
  std::uint64_t next_ = std::uint64_t{0xdead} << 48;  // no processor has such addresses
  std::map<std::uint64_t, std::vector<std::byte>> blocks_;
};

}  // namespace soapstone::runtime::test
