// See host_queue.h.
#include "runtime/device/host_queue.h"

#include "core/base/stop_scope.h"
#include "runtime/device/host_stopwatch.h"

namespace soapstone::runtime {

void HostQueue::enqueue(std::span<const KernelCall> calls) {
  if (failed_) return;
  for (const KernelCall& call : calls) {
    if (core::StopScope::stopped()) {
      failed_ = core::StopScope::interrupted();
      return;
    }
    auto* const kernel = static_cast<HostKernel*>(call.kernel);
    const core::Status done =
        kernel->run(HostInputs(call.inputs), HostOutputs(call.outputs), host_pointer(call.scratch));
    if (done) continue;
    failed_ = call.where.empty() ? done.error() : done.error().at(call.where);
    return;
  }
}

core::Status HostQueue::wait() {
  if (!failed_) return core::Done{};
  return *std::exchange(failed_, std::nullopt);
}

std::unique_ptr<Stopwatch> HostQueue::make_stopwatch() { return std::make_unique<HostStopwatch>(); }

}  // namespace soapstone::runtime
