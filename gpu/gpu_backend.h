// A CUDA device as a backend of runtime/: each launch is a generated kernel.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/driver/driver.h"
#include "gpu/text/kernel_text.h"
#include "runtime/launches/backend.h"

namespace soapstone::gpu {

/// Makes one binary of kernels.
using KernelCompiler =
    std::function<core::Result<std::vector<std::byte>>(std::span<const KernelText>)>;

/// Where binaries are kept: `$XDG_CACHE_HOME/soapstone/kernels`, or under ~/.cache.
std::filesystem::path default_kernel_cache();

/// The device of that number, with NVRTC and a cache of binaries in the user's cache folder.
/// Errors: kUnavailable, "no CUDA device: …".
core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(int ordinal = 0);

/// The same over a given driver and compiler.
core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(Driver driver, int ordinal,
                                                                 KernelCompiler compiler);

}  // namespace soapstone::gpu
