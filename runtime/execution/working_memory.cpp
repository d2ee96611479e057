// See working_memory.h.
#include "runtime/execution/working_memory.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::runtime {

void WorkingMemory::need(std::size_t bytes) {
  CHECK(!is_taken_, "working memory that grows while it is used");
  bytes_ = std::max(bytes_, bytes);
}

core::Result<DeviceAddress> WorkingMemory::take() {
  if (!is_taken_) {
    SOAPSTONE_ASSIGN_OR_RETURN(block_, DeviceBlock::allocate(*memory_, bytes_));
    is_taken_ = true;
  }
  return block_.address();
}

}  // namespace soapstone::runtime
