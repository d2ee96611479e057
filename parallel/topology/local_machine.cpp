// This machine as a topology. What its threads compute and move is estimated from what the system
// says of them; plans for it are priced by measured costs.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "parallel/topology/presets.h"

namespace soapstone::parallel {
namespace {

constexpr double kUsualHz = 2.5e9;
constexpr double kMemoryBytesPerS = 1e10;  ///< Of one thread that copies.

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
  const auto threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const double memory_bytes = std::max(1.0, static_cast<double>(sysconf(_SC_PHYS_PAGES))) *
                              static_cast<double>(sysconf(_SC_PAGESIZE));
  const double flops_per_s = f32_flops_per_cycle() * processor_hz();
  DeviceKind thread{
      "thread",
      "cpu",
      memory_bytes / static_cast<double>(threads),
      kMemoryBytesPerS,
      {{core::DataType::kFloat32, flops_per_s}, {core::DataType::kFloat64, flops_per_s / 2}}};
  const Level memory{"memory", threads, 1, kMemoryBytesPerS};
  return Topology::make(Hierarchy{"local", {thread}, {{0, threads}}, {memory}});
}

}  // namespace soapstone::parallel
