// The memory of a device, as everything outside of its backend sees it: addresses that can be added
// to but not read through, and copies from and to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/base/result.h"

namespace soapstone::runtime {

/// A place in the memory of one device. Only that device's backend knows what the number means.
class DeviceAddress {
 public:
  /// Nowhere.
  constexpr DeviceAddress() = default;
  explicit constexpr DeviceAddress(std::uint64_t value) : value_(value) {}
  constexpr std::uint64_t value() const { return value_; }
  explicit constexpr operator bool() const { return value_ != 0; }
  friend constexpr DeviceAddress operator+(DeviceAddress base, std::size_t bytes) {
    return DeviceAddress(base.value_ + bytes);
  }
  friend constexpr bool operator==(DeviceAddress, DeviceAddress) = default;

 private:
  std::uint64_t value_ = 0;
};

/// Bytes on the host, and what keeps them alive.
struct HostBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class DeviceBlock;

/// Copies are finished when they return. They do not wait for queues: call Queue::wait() before
/// copying bytes that a kernel in a queue may still read or write.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Zeroed bytes at a multiple of 64; nowhere for 0 bytes. DeviceBlock::allocate owns the result.
  /// Errors: kUnavailable if the device has not that much memory.
  virtual core::Result<DeviceAddress> allocate(std::size_t bytes) = 0;
  /// `address`: what allocate() returned.
  virtual void release(DeviceAddress address) = 0;

  /// Errors of copies: kUnavailable if the device fails.
  virtual core::Status copy_in(DeviceAddress to, std::span<const std::byte> from) = 0;
  virtual core::Status copy_out(DeviceAddress from, std::span<std::byte> to) = 0;
  virtual core::Status copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) = 0;

  /// Lets kernels read bytes of the host, which outlive the block and do not change: a copy, or the
  /// bytes themselves where the device reads the host's memory.
  virtual core::Result<DeviceBlock> share(std::span<const std::byte> bytes);
  /// Lets kernels write what copy_out() then brings to these bytes of the host: a block of the
  /// device, or the bytes themselves, which copy_out() leaves as they are, where the device writes
  /// the host's memory.
  virtual core::Result<DeviceBlock> share_to_write(std::span<std::byte> bytes);
  /// Turns a block that allocate() made into bytes of the host, which outlive this object: a copy,
  /// or the block itself where the host reads the device's memory.
  virtual core::Result<HostBytes> hand_over(DeviceBlock block, std::size_t bytes);

  /// A copy on the host.
  core::Result<HostBytes> read(DeviceAddress from, std::size_t bytes);
};

/// Owns a piece of a device's memory, which must outlive it.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  static core::Result<DeviceBlock> allocate(DeviceMemory& memory, std::size_t bytes);
  /// A block that belongs to somebody else.
  static DeviceBlock borrowed(DeviceAddress address);
  ~DeviceBlock();
  DeviceBlock(DeviceBlock&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        address_(std::exchange(other.address_, DeviceAddress())) {}
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(address_, other.address_);
    return *this;
  }

  DeviceAddress address() const { return address_; }
  /// Gives ownership up. Precondition: the block is not borrowed.
  DeviceAddress detach();

 private:
  DeviceMemory* memory_ = nullptr;  // null: owns nothing
  DeviceAddress address_;
};

}  // namespace soapstone::runtime
