// See target.h.
#include "gpu/targets/target.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/check.h"
#include "gpu/kernels/cover.h"
#include "gpu/kernels/library_fusion.h"
#include "gpu/making/attention_fit.h"
#include "gpu/making/layout_choice.h"
#include "gpu/making/layouts.h"
#include "runtime/device/host_memory.h"

namespace soapstone::gpu {
namespace {

/// Launches within a captured graph and reads that miss the L2 cache, as microbenchmarks of these
/// cards report them; both are replaced as soon as costs are measured.
constexpr double kLaunchUs = 1.6;
constexpr double kLatencyUs = 0.65;

constexpr int kKiB = 1024;

Target target_of(std::string name, std::string device_name, CompileTarget compute,
                 int multiprocessors, int shared_bytes) {
  Target target;
  target.name = std::move(name);
  target.device_name = std::move(device_name);
  target.compute = compute;
  target.multiprocessors = multiprocessors;
  target.shared_bytes = shared_bytes;
  target.launch_us = kLaunchUs;
  target.latency_us = kLatencyUs;
  return target;
}

Target a100() {
  Target target = target_of("a100", "NVIDIA A100-SXM4-80GB", {8, 0}, 108, 164 * kKiB);
  target.clock_khz = 1410000;
  target.memory_clock_khz = 1593000;
  target.l2_bytes = 41943040;
  target.memory_bytes = 85049933824;
  return target;
}

Target h100() {
  Target target = target_of("h100", "NVIDIA H100 80GB HBM3", {9, 0}, 132, 228 * kKiB);
  target.clock_khz = 1980000;
  target.memory_clock_khz = 2619000;
  target.l2_bytes = 52428800;
  target.memory_bytes = 85045477376;
  return target;
}

Target h200() {
  Target target = target_of("h200", "NVIDIA H200", {9, 0}, 132, 228 * kKiB);
  target.clock_khz = 1980000;
  target.memory_clock_khz = 3201000;
  target.l2_bytes = 62914560;
  target.memory_bytes = 150754820096;
  return target;
}

class AbsentBackend final : public runtime::Backend {
 public:
  explicit AbsentBackend(const Target& target) { info_.name = target.device_name; }

  const runtime::DeviceInfo& device() const override { return info_; }
  runtime::DeviceMemory& memory() override { return memory_; }
  core::Result<std::unique_ptr<runtime::Queue>> make_queue() override { return is_absent(); }
  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return library_fusion(fusion);
  }
  std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph,
                                                    runtime::Fusion fusion) const override {
    return gpu::cover(graph, fusion, is_attention_of_known_cards);
  }
  void choose_layouts(const core::Graph& graph, const runtime::Launch& launch,
                      std::span<const runtime::Layout> stored,
                      runtime::LaunchLayouts& wanted) const override {
    gpu::choose_layouts(graph, launch, stored, ImageLayout::kByCost, wanted);
  }
  std::vector<runtime::LaunchLayouts> layout_ways(const core::Graph& graph,
                                                  const runtime::Launch& launch) const override {
    return gpu::layout_ways(graph, launch);
  }
  void note_cost(const std::string& signature, double cost_us) override {
    costs_.note(signature, cost_us);
  }
  std::vector<runtime::LaunchLayouts>
  arrange(const core::Graph& graph, std::span<const runtime::Launch> launches) const override {
    return arrange_by_cost(graph, launches, costs_);
  }
  core::Result<std::unique_ptr<runtime::Kernel>> compile(const core::Graph&, const runtime::Launch&,
                                                         const runtime::LaunchLayouts&,
                                                         const runtime::ConstantValue&,
                                                         std::vector<std::string>*) override {
    return is_absent();
  }
  core::Result<std::unique_ptr<runtime::Kernel>>
  compile_conversion(const core::TensorType&, runtime::Layout, runtime::Layout) override {
    return is_absent();
  }

 private:
  core::Error is_absent() const { return core::unavailable(info_.name + " is not here"); }

  runtime::DeviceInfo info_;
  runtime::HostMemory memory_;
  LayoutCosts costs_;
};

}  // namespace

const runtime::DeviceKind& Target::kind() const {
  const runtime::DeviceKind* const kind = runtime::find_device_kind(name);
  CHECK(kind, "a target without a data sheet");
  return *kind;
}

std::span<const Target> known_targets() {
  static const std::array kKnown = {a100(), h100(), h200()};
  return kKnown;
}

const Target* find_target(std::string_view name) {
  const auto known = known_targets();
  const auto found = std::ranges::find(known, name, &Target::name);
  return found == known.end() ? nullptr : &*found;
}

const Target* target_of_key(std::string_view cost_key) {
  const auto known = known_targets();
  const auto found = std::ranges::find_if(
      known, [&](const Target& target) { return cost_key.starts_with(target.device_name + " ("); });
  return found == known.end() ? nullptr : &*found;
}

std::string cudnn_properties(const Target& target) {
  const int capability = 100 * target.compute.major + 10 * target.compute.minor;
  return fmt::format(
      R"({{"deviceVer":{},"driverVer":13000,"cudaDeviceId":0,"pciDeviceId":0,"isTccDriver":0,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"maxThreadsPerBlock":1024,
"warpSize":32,"supportCoopLaunch":1,"maxSharedMemoryPerBlock":49152,
"multiProcessorCount":{},"regsPerBlock":{},"maxRegistersPerSM":{},"maxCtasPerSM":{},
"maxThreadsPerSM":{},"maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":{},
"smClockRateKHz":{},"memClockRateKHz":{},"l2CacheSize":{},"totalGlobalMem":{},
"deviceName":"{}"}})",
      capability, target.multiprocessors, target.registers, target.registers, target.blocks,
      target.threads, target.shared_bytes - target.reserved_shared_bytes,
      target.reserved_shared_bytes, target.clock_khz, target.memory_clock_khz, target.l2_bytes,
      target.memory_bytes, target.device_name);
}

std::unique_ptr<runtime::Backend> make_absent_backend(const Target& target) {
  return std::make_unique<AbsentBackend>(target);
}

}  // namespace soapstone::gpu
