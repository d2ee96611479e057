// Kernels that the calling thread runs itself: a call has run when enqueue() returns.
#pragma once

#include "runtime/device/host_memory.h"
#include "runtime/device/queue.h"

namespace soapstone::runtime {

/// Addresses of the host's memory, read as pointers to T.
template <class T>
class HostPointers {
 public:
  HostPointers() = default;
  explicit HostPointers(std::span<const DeviceAddress> addresses) : addresses_(addresses) {}
  T* operator[](std::size_t i) const { return host_pointer(addresses_[i]); }
  std::size_t size() const { return addresses_.size(); }
  bool empty() const { return addresses_.empty(); }

 private:
  std::span<const DeviceAddress> addresses_;
};
using HostInputs = HostPointers<const std::byte>;
using HostOutputs = HostPointers<std::byte>;

class HostKernel : public Kernel {
 public:
  /// The arguments are those of a KernelCall.
  /// Errors: kInvalidInput if the inputs break a requirement of an operator.
  virtual core::Status run(HostInputs inputs, HostOutputs outputs, std::byte* scratch) = 0;
};

/// For kernels that are HostKernels.
class HostQueue final : public Queue {
 public:
  void enqueue(std::span<const KernelCall> calls) override;
  core::Status wait() override;
  std::unique_ptr<Stopwatch> make_stopwatch() override;

 private:
  std::optional<core::Error> failed_;
};

}  // namespace soapstone::runtime
