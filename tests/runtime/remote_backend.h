// A device that is as far from the host as can be, to show that nobody but a backend relies on host
// pointers, on kernels that have run when they are enqueued, or on the host's clock. Its addresses
// point nowhere on the host, its queues run nothing before they are waited for, and then on another
// thread, and its clock advances with the kernels that run, not with time.
#pragma once

#include <atomic>
#include <deque>
#include <thread>

#include "tests/runtime/channels_last_backend.h"
#include "tests/runtime/remote_memory.h"

namespace soapstone::runtime::test {

/// Runs a kernel of the host on what the device's memory holds.
class RemoteKernel final : public Kernel {
 public:
  RemoteKernel(std::unique_ptr<HostKernel> kernel, std::vector<std::size_t> input_bytes,
               std::vector<std::size_t> output_bytes)
      : kernel_(std::move(kernel)), input_bytes_(std::move(input_bytes)),
        output_bytes_(std::move(output_bytes)) {}
  core::Status run(RemoteMemory& memory, const KernelCall& call) {
    CHECK(call.inputs.size() == input_bytes_.size(), "inputs of another launch");
    CHECK(call.outputs.size() == output_bytes_.size(), "outputs of another launch");
    const auto inputs = local(memory, call.inputs, input_bytes_);
    const auto outputs = local(memory, call.outputs, output_bytes_);
    return kernel_->run(HostInputs(inputs), HostOutputs(outputs),
                        memory.resolve(call.scratch, scratch_bytes()));
  }
  static constexpr std::size_t kScratchBytes = 100;
  std::size_t scratch_bytes() const override { return kScratchBytes; }
  std::optional<std::size_t> in_place_input() const override { return kernel_->in_place_input(); }
  std::string implementation() const override { return kernel_->implementation(); }

 private:
  static std::vector<DeviceAddress> local(RemoteMemory& memory,
                                          std::span<const DeviceAddress> addresses,
                                          std::span<const std::size_t> bytes) {
    std::vector<DeviceAddress> result;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      std::byte* const at = addresses[i] ? memory.resolve(addresses[i], bytes[i]) : nullptr;
      result.emplace_back(reinterpret_cast<std::uintptr_t>(at));
    }
    return result;
  }

  std::unique_ptr<HostKernel> kernel_;
  std::vector<std::size_t> input_bytes_, output_bytes_;
};

/// The time that a run of any kernel takes, by the device's clock.
inline constexpr double kRemoteKernelUs = 7;

class RemoteQueue final : public Queue {
 public:
  RemoteQueue(RemoteMemory& memory, std::atomic<double>& clock_us)
      : memory_(memory), clock_us_(clock_us) {}
  void enqueue(std::span<const KernelCall> calls) override { waiting_.push_back(calls); }
  core::Status wait() override {
    finish();
    if (!failed_) return core::Done{};
    return *std::exchange(failed_, std::nullopt);
  }
  std::unique_ptr<Stopwatch> make_stopwatch() override {
    return std::make_unique<RemoteStopwatch>(*this);
  }

 private:
  class RemoteStopwatch final : public Stopwatch {
   public:
    explicit RemoteStopwatch(RemoteQueue& queue) : queue_(queue) {}
    void start() override { start_us_ = now_us(); }
    double stop_us() override { return now_us() - start_us_; }

   private:
    double now_us() {
      queue_.finish();
      return queue_.clock_us_;
    }
    RemoteQueue& queue_;
    double start_us_ = 0;
  };

  void finish() {
    std::thread([this] {
      for (; !waiting_.empty(); waiting_.pop_front())
        for (const KernelCall& call : waiting_.front()) run(call);
    }).join();
  }
  void run(const KernelCall& call) {
    if (failed_) return;
    const auto done = static_cast<RemoteKernel*>(call.kernel)->run(memory_, call);
    clock_us_ = clock_us_ + kRemoteKernelUs;
    if (!done) failed_ = done.error().at(call.where);
  }

  RemoteMemory& memory_;
  std::atomic<double>& clock_us_;
  std::deque<std::span<const KernelCall>> waiting_;
  std::optional<core::Error> failed_;
};

/// Plans as ChannelsLastBackend does, and writes over the first input where the sizes agree.
class RemoteBackend final : public Backend {
 public:
  const DeviceInfo& device() const override { return device_; }
  RemoteMemory& memory() override { return memory_; }
  core::Result<std::unique_ptr<Queue>> make_queue() override {
    return std::unique_ptr<Queue>(std::make_unique<RemoteQueue>(memory_, clock_us_));
  }
  const FusionRules& fusion(Fusion fusion) const override { return plans_.fusion(fusion); }
  void choose_layouts(const core::Graph& graph, const Launch& launch,
                      std::span<const Layout> stored, LaunchLayouts& wanted) const override {
    plans_.choose_layouts(graph, launch, stored, wanted);
  }
  std::optional<std::size_t> in_place_input(const core::Graph& graph,
                                            const Launch& launch) const override {
    const auto bytes = [&](core::TensorId id) { return storage_bytes(graph.tensor(id).type); };
    if (launch.inputs.empty() || bytes(launch.inputs[0]) != bytes(launch.outputs[0]))
      return std::nullopt;
    return 0;
  }
  core::Result<std::unique_ptr<Kernel>> compile(const core::Graph& graph, const Launch& launch,
                                                const LaunchLayouts& layouts,
                                                const ConstantValue& constants,
                                                std::vector<std::string>*) override {
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel, compile_reference(graph, launch, layouts, constants));
    const auto bytes = [&](const std::vector<core::TensorId>& tensors) {
      std::vector<std::size_t> all;
      for (core::TensorId id : tensors) all.push_back(storage_bytes(graph.tensor(id).type));
      return all;
    };
    auto in_place = std::make_unique<InPlaceKernel>(std::move(kernel),
                                                    in_place_input(graph, launch).has_value());
    return std::unique_ptr<Kernel>(std::make_unique<RemoteKernel>(
        std::move(in_place), bytes(launch.inputs), bytes(launch.outputs)));
  }
  core::Result<std::unique_ptr<Kernel>> compile_conversion(const core::TensorType& type,
                                                           Layout from, Layout to) override {
    const std::vector bytes = {storage_bytes(type)};
    return std::unique_ptr<Kernel>(
        std::make_unique<RemoteKernel>(compile_reference_conversion(type, from, to), bytes, bytes));
  }

 private:
  DeviceInfo device_{"remote", "reference kernels", 1};
  ChannelsLastBackend plans_;
  RemoteMemory memory_;
  std::atomic<double> clock_us_ = 0;
};

}  // namespace soapstone::runtime::test
