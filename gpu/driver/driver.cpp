// See driver.h.
#include "gpu/driver/driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <array>

#include <fmt/format.h>

namespace soapstone::gpu {
namespace {

core::Error no_device(const std::string& why) {
  return core::unavailable("no CUDA device: " + why);
}

/// Fills `function` with the symbol. False: there is none.
template <class Function>
bool find(void* library, const char* name, std::function<Function>& function) {
  void* const symbol = dlsym(library, name);
  if (symbol) function = reinterpret_cast<Function*>(symbol);
  return symbol != nullptr;
}

/// The functions that a device is found with.
bool find_queries(void* library, Driver& d) {
  return find(library, "cuInit", d.init) && find(library, "cuDriverGetVersion", d.version) &&
         find(library, "cuDeviceGetCount", d.device_count) &&
         find(library, "cuDeviceGet", d.device) &&
         find(library, "cuDeviceGetName", d.device_name) &&
         find(library, "cuDeviceGetAttribute", d.device_attribute) &&
         find(library, "cuDeviceTotalMem_v2", d.total_memory) &&
         find(library, "cuGetErrorName", d.error_name) &&
         find(library, "cuDevicePrimaryCtxRetain", d.retain_context) &&
         find(library, "cuDevicePrimaryCtxRelease_v2", d.release_context) &&
         find(library, "cuCtxSetCurrent", d.set_context) &&
         find(library, "cuCtxSynchronize", d.wait_context);
}

/// The functions that work is done with.
bool find_calls(void* library, Driver& d) {
  return find(library, "cuMemAlloc_v2", d.allocate) && find(library, "cuMemFree_v2", d.free) &&
         find(library, "cuMemsetD8_v2", d.fill) && find(library, "cuMemcpyHtoD_v2", d.copy_in) &&
         find(library, "cuMemcpyDtoH_v2", d.copy_out) && find(library, "cuMemcpyDtoD_v2", d.copy) &&
         find(library, "cuStreamCreate", d.make_stream) &&
         find(library, "cuStreamDestroy_v2", d.destroy_stream) &&
         find(library, "cuStreamSynchronize", d.wait_stream) &&
         find(library, "cuEventCreate", d.make_event) &&
         find(library, "cuEventDestroy_v2", d.destroy_event) &&
         find(library, "cuEventRecord", d.record_event) &&
         find(library, "cuEventSynchronize", d.wait_event) &&
         find(library, "cuEventElapsedTime", d.elapsed_ms) &&
         find(library, "cuModuleLoadData", d.load_module) &&
         find(library, "cuModuleUnload", d.unload_module) &&
         find(library, "cuModuleGetFunction", d.find_function) &&
         find(library, "cuLaunchKernel", d.launch);
}

}  // namespace

core::Status checked(const Driver& driver, int result, const char* call) {
  if (result == CUDA_SUCCESS) return core::Done{};
  const char* name = nullptr;
  if (driver.error_name(result, &name) != CUDA_SUCCESS) name = nullptr;
  return core::unavailable(
      fmt::format("{} says {}{}", call, result, name ? fmt::format(" ({})", name) : ""));
}

core::Result<Driver> load_driver(const std::string& name) {
  // Never closed: the driver has threads of its own.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return no_device(dlerror());
  Driver driver;
  if (!find_queries(library, driver) || !find_calls(library, driver))
    return no_device(name + " is no driver of CUDA 12 or later");
  return driver;
}

core::Result<DeviceFacts> find_device(const Driver& driver, int ordinal) {
  const auto call = [&](int result, const char* name) -> core::Status {
    const core::Status status = checked(driver, result, name);
    return status ? status : no_device(status.error().message);
  };
  DeviceFacts facts;
  int count = 0;
  int& device = facts.handle;
  SOAPSTONE_RETURN_IF_ERROR(call(driver.init(0), "cuInit"));
  SOAPSTONE_RETURN_IF_ERROR(call(driver.version(&facts.driver_version), "cuDriverGetVersion"));
  SOAPSTONE_RETURN_IF_ERROR(call(driver.device_count(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count)
    return no_device(
        fmt::format("there are {}, numbered from 0, and {} is none of them", count, ordinal));
  SOAPSTONE_RETURN_IF_ERROR(call(driver.device(&device, ordinal), "cuDeviceGet"));
  std::array<char, 256> name{};
  SOAPSTONE_RETURN_IF_ERROR(
      call(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device),
           "cuDeviceGetName"));
  facts.name = name.data();
  for (const auto& [value, attribute] :
       {std::pair{&facts.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&facts.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&facts.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&facts.shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK}})
    SOAPSTONE_RETURN_IF_ERROR(
        call(driver.device_attribute(value, attribute, device), "cuDeviceGetAttribute"));
  SOAPSTONE_RETURN_IF_ERROR(
      call(driver.total_memory(&facts.memory_bytes, device), "cuDeviceTotalMem"));
  return facts;
}

}  // namespace soapstone::gpu
