// See device.h.
#include "gpu/device/device.h"

#include <fmt/format.h>

#include "gpu/device/gpu_kernel.h"
#include "gpu/device/recorder.h"

namespace soapstone::gpu {
namespace {

using runtime::DeviceAddress;

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY

/// Two events around what is timed. Errors go to the queue, whose wait() reports them.
class GpuStopwatch final : public runtime::Stopwatch {
 public:
  explicit GpuStopwatch(GpuQueue& queue) : queue_(queue) {}
  ~GpuStopwatch() override {
    for (DriverHandle event : events_)
      if (event) queue_.device().release().destroy_event(event);
  }
  GpuStopwatch(const GpuStopwatch&) = delete;
  GpuStopwatch& operator=(const GpuStopwatch&) = delete;

  void start() override { queue_.note(record(events_[0])); }
  double stop_us() override {
    float ms = 0;
    core::Status status = record(events_[1]);
    if (status) status = read(ms);
    queue_.note(status);
    return static_cast<double>(ms) * 1000;
  }

 private:
  core::Status record(DriverHandle& event) {
    SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, queue_.device().use());
    if (!event) SOAPSTONE_RETURN_IF_ERROR(checked(*d, d->make_event(&event, 0), "cuEventCreate"));
    return checked(*d, d->record_event(event, queue_.stream()), "cuEventRecord");
  }
  core::Status read(float& ms) {
    SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, queue_.device().use());
    SOAPSTONE_RETURN_IF_ERROR(checked(*d, d->wait_event(events_[1]), "cuEventSynchronize"));
    if (!events_[0]) return core::Done{};  // start() failed, and said so
    return checked(*d, d->elapsed_ms(&ms, events_[0], events_[1]), "cuEventElapsedTime");
  }

  GpuQueue& queue_;
  DriverHandle events_[2] = {};
};

}  // namespace

// --- context ------------------------------------------------------------------------------------

core::Result<DevicePtr> Device::open(Driver driver, DeviceFacts facts) {
  auto device = std::make_shared<Device>(std::move(driver), std::move(facts));
  const Driver& d = device->driver_;
  SOAPSTONE_RETURN_IF_ERROR(checked(d, d.retain_context(&device->context_, device->facts_.handle),
                                    "cuDevicePrimaryCtxRetain"));
  return DevicePtr(std::move(device));
}

Device::~Device() {
  if (context_) driver_.release_context(facts_.handle);
}

core::Result<const Driver*> Device::use() const {
  SOAPSTONE_RETURN_IF_ERROR(checked(driver_, driver_.set_context(context_), "cuCtxSetCurrent"));
  return &driver_;
}

const Driver& Device::release() const {
  driver_.set_context(context_);
  return driver_;
}

// --- memory -------------------------------------------------------------------------------------

core::Result<DeviceAddress> GpuMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return DeviceAddress();
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device_->use());
  DriverAddress address = 0;
  const int result = d->allocate(&address, bytes);
  if (result == kOutOfMemory)
    return core::unavailable(fmt::format("{} has no {} bytes left", device_->facts().name, bytes));
  SOAPSTONE_RETURN_IF_ERROR(checked(*d, result, "cuMemAlloc"));
  // The queues' streams do not wait for work that belongs to none.
  core::Status status = checked(*d, d->fill(address, 0, bytes), "cuMemsetD8");
  if (status) status = checked(*d, d->wait_context(), "cuCtxSynchronize");
  if (!status) {
    d->free(address);
    return status.error();
  }
  return DeviceAddress(address);
}

void GpuMemory::release(DeviceAddress address) {
  if (address) device_->release().free(address.value());
}

core::Status GpuMemory::copy_in(DeviceAddress to, std::span<const std::byte> from) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device_->use());
  SOAPSTONE_RETURN_IF_ERROR(
      checked(*d, d->copy_in(to.value(), from.data(), from.size()), "cuMemcpyHtoD"));
  return checked(*d, d->wait_context(), "cuCtxSynchronize");
}

core::Status GpuMemory::copy_out(DeviceAddress from, std::span<std::byte> to) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device_->use());
  return checked(*d, d->copy_out(to.data(), from.value(), to.size()), "cuMemcpyDtoH");
}

core::Status GpuMemory::copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device_->use());
  SOAPSTONE_RETURN_IF_ERROR(checked(*d, d->copy(to.value(), from.value(), bytes), "cuMemcpyDtoD"));
  return checked(*d, d->wait_context(), "cuCtxSynchronize");
}

// --- queue --------------------------------------------------------------------------------------

core::Result<std::unique_ptr<runtime::Queue>> GpuQueue::make(DevicePtr device) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, device->use());
  DriverHandle stream = nullptr;
  SOAPSTONE_RETURN_IF_ERROR(checked(*d, d->make_stream(&stream, kNonBlocking), "cuStreamCreate"));
  return std::unique_ptr<runtime::Queue>(std::make_unique<GpuQueue>(std::move(device), stream));
}

GpuQueue::~GpuQueue() { device_->release().destroy_stream(stream_); }

void GpuQueue::note(const core::Status& status, const std::string& where) {
  if (status || failed_) return;
  failed_ = where.empty() ? status.error() : status.error().at(where);
}

void GpuQueue::enqueue(std::span<const runtime::KernelCall> calls) {
  if (failed_) return;
  const auto driver = device_->use();
  if (!driver) return note(driver.error());
  for (const runtime::KernelCall& call : calls) {
    note(static_cast<GpuKernel*>(call.kernel)->launch(**driver, stream_, call), call.where);
    if (failed_) return;
  }
}

core::Status GpuQueue::wait() {
  const auto driver = device_->use();
  note(driver ? checked(**driver, (*driver)->wait_stream(stream_), "cuStreamSynchronize")
              : core::Status(driver.error()));
  if (!failed_) return core::Done{};
  return *std::exchange(failed_, std::nullopt);
}

core::Result<std::unique_ptr<runtime::Recording>>
GpuQueue::record(std::vector<runtime::KernelCall> calls) {
  return GpuRecording::make(device_, stream_, std::move(calls));
}

void GpuQueue::replay(runtime::Recording& recording) {
  if (!failed_) note(static_cast<GpuRecording&>(recording).launch(stream_));
}

std::unique_ptr<runtime::Stopwatch> GpuQueue::make_stopwatch() {
  return std::make_unique<GpuStopwatch>(*this);
}

}  // namespace soapstone::gpu
