// Memory that several executables of one backend use in turn.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

class WorkingMemory {
 public:
  /// `memory` must outlive this.
  explicit WorkingMemory(DeviceMemory& memory) : memory_(&memory) {}

  /// From now on there are at least so many bytes. Precondition: take() was not called.
  void need(std::size_t bytes);
  /// The memory, from the first call on. Errors: kUnavailable.
  core::Result<DeviceAddress> take();
  std::size_t bytes() const { return bytes_; }

 private:
  DeviceMemory* memory_;
  DeviceBlock block_;
  std::size_t bytes_ = 0;
  bool is_taken_ = false;
};

}  // namespace soapstone::runtime
