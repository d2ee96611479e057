// See presets.h. Latencies are typical of measurements with NCCL's tests; a topology file can
// replace them.
#include "parallel/topology/presets.h"

#include <charconv>

#include <fmt/format.h>

#include "core/base/check.h"
#include "runtime/device/device_kinds.h"

namespace soapstone::parallel {
namespace {

constexpr double kGB = 1e9;
constexpr std::int64_t kMostNodes = 2048;  // 16,384 devices

/// One of those that are known.
DeviceKind known(std::string_view name) {
  const DeviceKind* const kind = runtime::find_device_kind(name);
  CHECK(kind, "a preset's device");
  return *kind;
}

/// `per_node` devices on a fabric of their own, nodes on another one.
core::Result<Topology> cluster(std::string name, DeviceKind kind, std::int64_t nodes, Level inside,
                               Level between) {
  between.size = nodes;
  const std::int64_t devices = inside.size * nodes;
  return Topology::make(Hierarchy{
      std::move(name), {std::move(kind)}, {{0, devices}}, {std::move(inside), std::move(between)}});
}

/// Devices that hang on one switch with wires of their own speed.
struct Star {
  std::string prefix;
  std::size_t kind, count;
  double latency_us, bytes_per_s;
};

void add_star(const Star& star, std::size_t hub, Network& network) {
  for (std::size_t k = 0; k < star.count; ++k) {
    network.wires.push_back({network.devices.size(), hub, star.latency_us, star.bytes_per_s});
    network.devices.push_back(star.prefix + std::to_string(k));
    network.kind_of.push_back(star.kind);
  }
}

/// 128 boards of each generation; a board's port has 8 and 16 Gbit/s in AccPar's experiments.
core::Result<Topology> tpu_v2_v3() {
  Network network{"tpu-v2v3", {known("tpu-v2"), known("tpu-v3")}, {}, {}, {"network"}, {}};
  const std::size_t hub = 256;
  add_star({"v2-", 0, 128, 5, 1 * kGB}, hub, network);
  add_star({"v3-", 1, 128, 5, 2 * kGB}, hub, network);
  return Topology::make(std::move(network));
}

/// A node of 8 V100 on NVLink (150 GB/s in each direction) and one of 8 P100 on PCIe 3.0, joined by
/// 50 Gbit/s Ethernet, as in X. Jia et al., "Whale" (USENIX ATC 2022).
core::Result<Topology> v100_p100() {
  Network network{"v100-p100", {known("v100"), known("p100")}, {}, {}, {"nvlink", "pcie"}, {}};
  const std::size_t nvlink = 16, pcie = 17;
  add_star({"v100-", 0, 8, 1.5, 150 * kGB}, nvlink, network);
  add_star({"p100-", 1, 8, 2.5, 12 * kGB}, pcie, network);
  network.wires.push_back({nvlink, pcie, 20, 6.25 * kGB});
  return Topology::make(std::move(network));
}

/// Clusters whose number of nodes follows the name.
core::Result<Topology> dgx(std::string_view prefix, std::int64_t nodes, std::string name) {
  // NVLink 3 has 300 GB/s in each direction, NVLink 4 has 450; eight NICs of 200 and 400 Gbit/s.
  const bool is_a100 = prefix == "dgx-a100x";
  const Level nvlink{"nvlink", 8, 3, (is_a100 ? 300 : 450) * kGB};
  const Level infiniband{"infiniband", nodes, 6, (is_a100 ? 25 : 50) * kGB};
  const DeviceKind kind = known(prefix.substr(prefix.find('-') + 1, 4));
  return cluster(std::move(name), kind, nodes, nvlink, infiniband);
}

core::Error no_preset(std::string_view name) {
  return core::invalid_input(fmt::format("there is no topology '{}'", name),
                             fmt::format("there are {}", fmt::join(preset_names(), ", ")));
}

}  // namespace

std::vector<std::string> preset_names() {
  return {"local",      "k80x4-ib",   "p100x4-nvlink", "dgx-a100xN",
          "dgx-h100xN", "dgx-h200xN", "tpu-v2v3",      "v100-p100"};
}

core::Result<Topology> preset_topology(std::string_view name) {
  if (name == "local") return local_topology();
  // The two clusters of Z. Jia, M. Zaharia and A. Aiken, "Beyond Data and Model Parallelism for
  // Deep Neural Networks" (MLSys 2019): PCIe and 56 Gbit/s InfiniBand, a port for a node; NVLink 1
  // (a pair of links, 40 GB/s) and 100 Gbit/s InfiniBand.
  if (name == "k80x4-ib")
    return cluster("k80x4-ib", known("k80"), 16, {"pcie", 4, 5, 12 * kGB},
                   {"infiniband", 1, 8, 7 * kGB, 4});
  if (name == "p100x4-nvlink")
    return cluster("p100x4-nvlink", known("p100"), 4, {"nvlink", 4, 3, 40 * kGB},
                   {"infiniband", 1, 6, 12.5 * kGB, 4});
  if (name == "tpu-v2v3") return tpu_v2_v3();
  if (name == "v100-p100") return v100_p100();
  for (const std::string_view prefix : {"dgx-a100x", "dgx-h100x", "dgx-h200x"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = name.substr(prefix.size());
    std::int64_t nodes = 0;
    const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), nodes);
    if (problem != std::errc() || end != digits.end() || nodes < 1 || nodes > kMostNodes)
      return core::invalid_input(
          fmt::format("'{}' has no number of nodes from 1 to {}", name, kMostNodes));
    return dgx(prefix, nodes, std::string(name));
  }
  return no_preset(name);
}

}  // namespace soapstone::parallel
