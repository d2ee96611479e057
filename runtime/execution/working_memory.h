// Memory that several executables of one backend use in turn.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.h"
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

class WorkingMemory {
 public:
  /// `memory` must outlive this.
  explicit WorkingMemory(DeviceMemory& memory) : memory_(&memory) {}

  /// A block of at least so many bytes: the last one, if that is as large. All stay until the end.
  /// Errors: kUnavailable.
  core::Result<DeviceAddress> take(std::size_t bytes);
  /// The size of all blocks.
  std::size_t bytes() const { return bytes_; }

 private:
  DeviceMemory* memory_;
  std::vector<DeviceBlock> blocks_;
  std::size_t last_bytes_ = 0, bytes_ = 0;
};

}  // namespace soapstone::runtime
