// The CUDA driver, found when a device is asked for: no program needs it to start. Functions are
// values, so that tests can give a driver that fails.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/base/result.h"

namespace soapstone::gpu {

/// Addresses of the device's memory, and what the driver hands out otherwise.
using DriverAddress = unsigned long long;
using DriverHandle = void*;

/// The functions of the driver by what they do. Results are those of the driver: 0 is success.
struct Driver {
  std::function<int(unsigned)> init;
  std::function<int(int*)> version;
  std::function<int(int*)> device_count;
  std::function<int(int*, int)> device;
  std::function<int(char*, int, int)> device_name;
  std::function<int(int*, int, int)> device_attribute;
  std::function<int(std::size_t*, int)> total_memory;
  std::function<int(int, const char**)> error_name;

  std::function<int(DriverHandle*, int)> retain_context;
  std::function<int(int)> release_context;
  std::function<int(DriverHandle)> set_context;
  std::function<int()> wait_context;

  std::function<int(DriverAddress*, std::size_t)> allocate;
  std::function<int(DriverAddress)> free;
  std::function<int(DriverAddress, unsigned char, std::size_t)> fill;
  std::function<int(DriverAddress, const void*, std::size_t)> copy_in;
  std::function<int(void*, DriverAddress, std::size_t)> copy_out;
  std::function<int(DriverAddress, DriverAddress, std::size_t)> copy;  ///< To, from.

  std::function<int(DriverHandle*, unsigned)> make_stream;
  std::function<int(DriverHandle)> destroy_stream;
  std::function<int(DriverHandle)> wait_stream;
  std::function<int(DriverHandle)> query_stream;  ///< 600: it has work left.
  std::function<int(DriverHandle*, unsigned)> make_event;
  std::function<int(DriverHandle)> destroy_event;
  std::function<int(DriverHandle, DriverHandle)> record_event;  ///< Event, stream.
  std::function<int(DriverHandle)> wait_event;
  std::function<int(float*, DriverHandle, DriverHandle)> elapsed_ms;

  std::function<int(DriverHandle*, const void*)> load_module;
  std::function<int(DriverHandle)> unload_module;
  std::function<int(DriverHandle*, DriverHandle, const char*)> find_function;
  /// Function, blocks (x, y, z), threads (x, y, z), shared bytes, stream, arguments, nothing.
  std::function<int(DriverHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, DriverHandle, void**, void**)>
      launch;

  std::function<int(DriverHandle, DriverHandle, unsigned)> wait_for_event;  ///< Stream, event.
  std::function<int(DriverHandle, int)> begin_capture;
  std::function<int(DriverHandle, DriverHandle*)> end_capture;
  /// An executable from a graph, with flags.
  std::function<int(DriverHandle*, DriverHandle, unsigned long long)> instantiate;
  std::function<int(DriverHandle, DriverHandle)> launch_graph;  ///< Executable, stream.
  std::function<int(DriverHandle)> destroy_graph;
  std::function<int(DriverHandle)> destroy_executable;
};

/// Success, or kUnavailable with the call and the driver's name for what went wrong.
core::Status checked(const Driver& driver, int result, const char* call);

/// What plans and texts depend on.
struct DeviceFacts {
  std::string name;          ///< "NVIDIA H200".
  int driver_version = 0;    ///< 13000 is CUDA 13.0.
  int major = 0, minor = 0;  ///< Compute capability.
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;
  std::size_t memory_bytes = 0;
  int handle = 0;   ///< The driver's.
  int ordinal = 0;  ///< Its number among the devices that the process sees.
};

/// Errors: kUnavailable, "no CUDA device: …", if the library is not there or lacks a function.
core::Result<Driver> load_driver(const std::string& library = "libcuda.so.1");

/// Errors: kUnavailable, "no CUDA device: …", whatever call fails; also if there are not that many.
core::Result<DeviceFacts> find_device(const Driver& driver, int ordinal);

}  // namespace soapstone::gpu
