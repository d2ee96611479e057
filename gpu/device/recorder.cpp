// See recorder.h.
#include "gpu/device/recorder.h"

#include <algorithm>

#include "gpu/device/gpu_kernel.h"
#include "gpu/device/stream_plan.h"

namespace soapstone::gpu {
namespace {

constexpr unsigned kNonBlockingStream = 1, kNoTiming = 2;  // CU_STREAM_…, CU_EVENT_…
constexpr int kThreadLocal = 1;                            // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// Captures what is put into several streams. Gives all of them back but the first.
class Capture {
 public:
  Capture(DevicePtr device, DriverHandle first) : device_(std::move(device)), streams_{first} {}
  ~Capture() {
    const Driver& d = device_->release();
    if (is_open_) {
      DriverHandle graph = nullptr;
      d.end_capture(streams_[0], &graph);
      if (graph) d.destroy_graph(graph);
    }
    for (DriverHandle event : events_) d.destroy_event(event);
    for (std::size_t k = 1; k < streams_.size(); ++k) d.destroy_stream(streams_[k]);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  core::Status begin(std::size_t streams) {
    SOAPSTONE_ASSIGN_OR_RETURN(driver_, device_->use());
    while (streams_.size() < streams) {
      DriverHandle stream = nullptr;
      SOAPSTONE_RETURN_IF_ERROR(
          check(driver_->make_stream(&stream, kNonBlockingStream), "cuStreamCreate"));
      streams_.push_back(stream);
    }
    SOAPSTONE_RETURN_IF_ERROR(
        check(driver_->begin_capture(streams_[0], kThreadLocal), "cuStreamBeginCapture"));
    is_open_ = true;
    if (streams == 1) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(DriverHandle start, mark(0));
    for (std::size_t k = 1; k < streams; ++k) SOAPSTONE_RETURN_IF_ERROR(wait(k, start));
    return core::Done{};
  }

  const Driver& driver() const { return *driver_; }
  DriverHandle stream(std::size_t number) const { return streams_[number]; }

  /// A mark behind what is in the stream so far.
  core::Result<DriverHandle> mark(std::size_t stream) {
    DriverHandle event = nullptr;
    SOAPSTONE_RETURN_IF_ERROR(check(driver_->make_event(&event, kNoTiming), "cuEventCreate"));
    events_.push_back(event);
    SOAPSTONE_RETURN_IF_ERROR(
        check(driver_->record_event(event, streams_[stream]), "cuEventRecord"));
    return event;
  }

  core::Status wait(std::size_t stream, DriverHandle event) {
    return check(driver_->wait_for_event(streams_[stream], event, 0), "cuStreamWaitEvent");
  }

  /// The graph of all streams, made ready to be launched.
  core::Result<DriverHandle> end() {
    for (std::size_t k = 1; k < streams_.size(); ++k) {
      SOAPSTONE_ASSIGN_OR_RETURN(DriverHandle last, mark(k));
      SOAPSTONE_RETURN_IF_ERROR(wait(0, last));
    }
    DriverHandle graph = nullptr, executable = nullptr;
    is_open_ = false;
    core::Status status = check(driver_->end_capture(streams_[0], &graph), "cuStreamEndCapture");
    if (status) status = check(driver_->instantiate(&executable, graph, 0), "cuGraphInstantiate");
    if (graph) driver_->destroy_graph(graph);
    if (!status) {
      if (executable) driver_->destroy_executable(executable);
      return status.error();
    }
    return executable;
  }

 private:
  core::Status check(int result, const char* call) const { return checked(*driver_, result, call); }

  DevicePtr device_;
  const Driver* driver_ = nullptr;
  std::vector<DriverHandle> streams_, events_;
  bool is_open_ = false;
};

/// Puts the calls into the streams of a capture.
core::Status capture_calls(Capture& capture, const StreamPlan& plan,
                           std::span<const runtime::KernelCall> calls) {
  std::vector<DriverHandle> marks(calls.size());
  std::vector<bool> is_awaited(calls.size());
  for (const StreamPlan::Step& step : plan.steps)
    for (const std::size_t source : step.waits) is_awaited[source] = true;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const StreamPlan::Step& step = plan.steps[k];
    for (const std::size_t source : step.waits)
      SOAPSTONE_RETURN_IF_ERROR(capture.wait(step.stream, marks[source]));
    const core::Status launched =
        static_cast<GpuKernel*>(calls[k].kernel)
            ->launch(capture.driver(), capture.stream(step.stream), calls[k]);
    if (!launched) return launched.error().at(calls[k].where);
    if (is_awaited[k]) {
      SOAPSTONE_ASSIGN_OR_RETURN(marks[k], capture.mark(step.stream));
    }
  }
  return core::Done{};
}

/// Scratch memory for each stream but the first, which keeps what the calls have.
core::Result<std::vector<runtime::DeviceBlock>>
separate_scratch(GpuMemory& memory, const StreamPlan& plan,
                 std::vector<runtime::KernelCall>& calls) {
  std::vector<std::size_t> bytes(plan.streams);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    std::size_t& needed = bytes[plan.steps[k].stream];
    needed = std::max(needed, calls[k].kernel->scratch_bytes());
  }
  std::vector<runtime::DeviceBlock> blocks;
  for (std::size_t stream = 1; stream < plan.streams; ++stream) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto block, runtime::DeviceBlock::allocate(memory, bytes[stream]));
    blocks.push_back(std::move(block));
  }
  for (std::size_t k = 0; k < calls.size(); ++k)
    if (const std::size_t stream = plan.steps[k].stream; stream > 0)
      calls[k].scratch = blocks[stream - 1].address();
  return blocks;
}

}  // namespace

core::Result<std::unique_ptr<runtime::Recording>>
GpuRecording::make(DevicePtr device, DriverHandle stream, std::vector<runtime::KernelCall> calls) {
  const StreamPlan plan = plan_streams(calls, kMostStreams);
  auto memory = std::make_unique<GpuMemory>(device);
  SOAPSTONE_ASSIGN_OR_RETURN(auto scratch, separate_scratch(*memory, plan, calls));
  auto recording = std::make_unique<GpuRecording>(device, std::move(calls));
  recording->memory_ = std::move(memory);
  recording->scratch_ = std::move(scratch);
  Capture capture(std::move(device), stream);
  SOAPSTONE_RETURN_IF_ERROR(capture.begin(plan.streams));
  SOAPSTONE_RETURN_IF_ERROR(capture_calls(capture, plan, recording->calls()));
  SOAPSTONE_ASSIGN_OR_RETURN(recording->executable_, capture.end());
  return std::unique_ptr<runtime::Recording>(std::move(recording));
}

GpuRecording::~GpuRecording() {
  if (executable_) device_->release().destroy_executable(executable_);
}

core::Status GpuRecording::launch(DriverHandle stream) const {
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device_->use());
  return checked(*d, d->launch_graph(executable_, stream), "cuGraphLaunch");
}

}  // namespace soapstone::gpu
