// A CUDA device as a backend of runtime/: launches of any shape, each run by a kernel of cuBLASLt,
// of cuDNN, or by a generated one.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "gpu/making/kernel_request.h"
#include "runtime/launches/backend.h"

namespace soapstone::gpu {

/// Where binaries are kept: `$XDG_CACHE_HOME/soapstone/kernels`, or under ~/.cache.
std::filesystem::path default_kernel_cache();

/// The device of that number, with NVRTC and a cache of binaries in the user's cache folder, and
/// the libraries that are there. Errors: kUnavailable, "no CUDA device: …".
core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(int ordinal = 0,
                                                                 const GpuOptions& options = {});

/// The same by the device's name: "cuda" or "cuda:1". Errors: kInvalidInput for other names.
core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(std::string_view name,
                                                                 const GpuOptions& options = {});

/// The same over a given driver, compiler and libraries.
core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(Driver driver, int ordinal,
                                                                 KernelCompiler compiler,
                                                                 Libraries libraries = {},
                                                                 const GpuOptions& options = {});

}  // namespace soapstone::gpu
