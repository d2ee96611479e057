// See working_memory.h.
#include "runtime/execution/working_memory.h"

#include <utility>

namespace soapstone::runtime {

core::Result<DeviceAddress> WorkingMemory::take(std::size_t bytes) {
  if (blocks_.empty() || bytes > last_bytes_) {
    SOAPSTONE_ASSIGN_OR_RETURN(DeviceBlock block, DeviceBlock::allocate(*memory_, bytes));
    blocks_.push_back(std::move(block));
    last_bytes_ = bytes;
    bytes_ += bytes;
  }
  return blocks_.back().address();
}

}  // namespace soapstone::runtime
