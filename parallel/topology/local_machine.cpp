// This machine as a topology. What its threads compute and move is estimated from what the system
// says of them; plans for it are priced by measured costs.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "parallel/topology/presets.h"
#include "parallel/topology/processors.h"

namespace soapstone::parallel {
namespace {

constexpr double kUsualHz = 2.5e9;
constexpr double kMemoryBytesPerS = 1e10;        ///< Of one thread that copies.
constexpr double kBetweenNodesBytesPerS = 2e10;  ///< Of all threads of a node of memory.

/// Two units of fused multiply-adds, as in processors of servers.
double f32_flops_per_cycle() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

double processor_hz() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("cpu MHz"))
      if (const std::size_t colon = line.find(':'); colon != std::string::npos)
        return std::max(1e8, std::strtod(line.c_str() + colon + 1, nullptr) * 1e6);
  return kUsualHz;
}

}  // namespace

core::Result<Topology> local_topology() {
  const Processors processors = local_processors();
  const std::int64_t threads = processors.threads_of_node;
  const double flops_per_s = f32_flops_per_cycle() * processor_hz() / processors.threads_of_core;
  const DeviceKind thread{
      "thread",
      "cpu",
      processors.memory_bytes_of_node / static_cast<double>(threads),
      kMemoryBytesPerS,
      {{core::DataType::kFloat32, flops_per_s}, {core::DataType::kFloat64, flops_per_s / 2}}};
  std::vector<Level> levels{{"memory", threads, 1, kMemoryBytesPerS}};
  if (processors.nodes > 1)
    levels.push_back({"nodes", processors.nodes, 2, kBetweenNodesBytesPerS, threads});
  return Topology::make(Hierarchy{"local", {thread}, {{0, threads * processors.nodes}}, levels});
}

}  // namespace soapstone::parallel
