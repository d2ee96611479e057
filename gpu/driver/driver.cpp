// See driver.h.
#include "gpu/driver/driver.h"

#include <cuda.h>

#include <array>

#include <fmt/format.h>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {
namespace {

core::Error no_device(const std::string& why) {
  return core::unavailable("no CUDA device: " + why);
}

/// The functions that a device is found with.
bool find_queries(const DynamicLibrary& library, Driver& d) {
  return library.find("cuInit", d.init) && library.find("cuDriverGetVersion", d.version) &&
         library.find("cuDeviceGetCount", d.device_count) &&
         library.find("cuDeviceGet", d.device) && library.find("cuDeviceGetName", d.device_name) &&
         library.find("cuDeviceGetAttribute", d.device_attribute) &&
         library.find("cuDeviceTotalMem_v2", d.total_memory) &&
         library.find("cuGetErrorName", d.error_name) &&
         library.find("cuDevicePrimaryCtxRetain", d.retain_context) &&
         library.find("cuDevicePrimaryCtxRelease_v2", d.release_context) &&
         library.find("cuCtxSetCurrent", d.set_context) &&
         library.find("cuCtxSynchronize", d.wait_context);
}

/// The functions that record work and repeat it.
bool find_graphs(const DynamicLibrary& library, Driver& d) {
  return library.find("cuStreamWaitEvent", d.wait_for_event) &&
         library.find("cuStreamBeginCapture_v2", d.begin_capture) &&
         library.find("cuStreamEndCapture", d.end_capture) &&
         library.find("cuGraphInstantiateWithFlags", d.instantiate) &&
         library.find("cuGraphLaunch", d.launch_graph) &&
         library.find("cuGraphDestroy", d.destroy_graph) &&
         library.find("cuGraphExecDestroy", d.destroy_executable);
}

/// The functions that work is done with.
bool find_calls(const DynamicLibrary& library, Driver& d) {
  return library.find("cuMemAlloc_v2", d.allocate) && library.find("cuMemFree_v2", d.free) &&
         library.find("cuMemsetD8_v2", d.fill) && library.find("cuMemcpyHtoD_v2", d.copy_in) &&
         library.find("cuMemcpyDtoH_v2", d.copy_out) && library.find("cuMemcpyDtoD_v2", d.copy) &&
         library.find("cuStreamCreate", d.make_stream) &&
         library.find("cuStreamDestroy_v2", d.destroy_stream) &&
         library.find("cuStreamSynchronize", d.wait_stream) &&
         library.find("cuStreamQuery", d.query_stream) &&
         library.find("cuEventCreate", d.make_event) &&
         library.find("cuEventDestroy_v2", d.destroy_event) &&
         library.find("cuEventRecord", d.record_event) &&
         library.find("cuEventSynchronize", d.wait_event) &&
         library.find("cuEventElapsedTime", d.elapsed_ms) &&
         library.find("cuModuleLoadData", d.load_module) &&
         library.find("cuModuleUnload", d.unload_module) &&
         library.find("cuModuleGetFunction", d.find_function) &&
         library.find("cuLaunchKernel", d.launch);
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
  const auto library = DynamicLibrary::open(name);
  if (!library) return no_device(library.error().message);
  Driver driver;
  if (!find_queries(*library, driver) || !find_calls(*library, driver) ||
      !find_graphs(*library, driver))
    return no_device(name + " is no driver of CUDA 12 or later");
  return driver;
}

core::Result<DeviceFacts> find_device(const Driver& driver, int ordinal) {
  const auto call = [&](int result, const char* name) -> core::Status {
    const core::Status status = checked(driver, result, name);
    return status ? status : no_device(status.error().message);
  };
  DeviceFacts facts;
  facts.ordinal = ordinal;
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
