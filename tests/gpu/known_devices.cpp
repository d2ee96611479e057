// See known_devices.h.
#include "tests/gpu/known_devices.h"

#include <algorithm>
#include <array>

namespace soapstone::gpu {
namespace {

constexpr std::string_view kA100 = R"({"deviceVer":800,"driverVer":13000,"cudaDeviceId":0,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":108,"warpSize":32,
"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":166912,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,
"supportCoopLaunch":1,"smClockRateKHz":1410000,"memClockRateKHz":1593000,
"l2CacheSize":41943040,"deviceName":"NVIDIA A100-SXM4-80GB",
"totalGlobalMem":85049933824})";

constexpr std::string_view kH100 = R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,
"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,
"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":2619000,
"l2CacheSize":52428800,"deviceName":"NVIDIA H100 80GB HBM3",
"totalGlobalMem":85045477376})";

constexpr std::string_view kH200 = R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,
"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,
"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,
"l2CacheSize":62914560,"deviceName":"NVIDIA H200","totalGlobalMem":150754820096})";

constexpr std::array kKnown = {KnownDevice{"a100", kA100}, KnownDevice{"h100", kH100},
                               KnownDevice{"h200", kH200}};

}  // namespace

std::span<const KnownDevice> known_devices() { return kKnown; }

const KnownDevice* find_known_device(std::string_view name) {
  const auto found = std::ranges::find(kKnown, name, &KnownDevice::name);
  return found == kKnown.end() ? nullptr : &*found;
}

}  // namespace soapstone::gpu
