// Memory for tensors: aligned to cache lines, zeroed, owned by one.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace soapstone::runtime {

class AlignedBlock {
 public:
  AlignedBlock() = default;
  /// Errors: kUnavailable if there is not that much memory.
  static core::Result<AlignedBlock> allocate(std::size_t bytes) {
    constexpr std::size_t kAlignment = 64;
    AlignedBlock block;
    if (bytes == 0) return block;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    block.data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
    if (!block.data_) {
      return core::unavailable(
          "no memory for " + std::to_string(bytes) + " bytes of tensors",
          "--max-memory GIB allows more; else use a smaller batch or another machine");
    }
    std::memset(block.data_.get(), 0, rounded);
    return block;
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace soapstone::runtime
