// See queue.h.
#include "runtime/device/queue.h"

namespace soapstone::runtime {

core::Result<std::unique_ptr<Recording>> Queue::record(std::vector<KernelCall> calls) {
  return std::make_unique<Recording>(std::move(calls));
}

void Queue::replay(Recording& recording) { enqueue(recording.calls()); }

}  // namespace soapstone::runtime
