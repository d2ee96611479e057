// Kernels' text to binaries for one kind of device, by NVIDIA's run-time compiler. Needs no device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gpu/text/kernel_text.h"

namespace soapstone::gpu {

/// What one kernel takes of a multiprocessor, as the assembler says.
struct KernelResources {
  std::string name;
  int registers = 0;               ///< Of a thread.
  std::int64_t spilled_bytes = 0;  ///< Stored and loaded again for lack of registers.
  std::int64_t shared_bytes = 0;   ///< Of a block.
};

struct KernelBinary {
  std::vector<std::byte> cubin;
  std::vector<KernelResources> resources;
};

struct CompileTarget {
  int major = 8, minor = 0;  ///< Compute capability.
};

/// Makes one binary of kernels for one device.
using KernelCompiler =
    std::function<core::Result<std::vector<std::byte>>(std::span<const KernelText>)>;

/// All kernels of `texts` in one binary. Errors: kInternal with the compiler's words; kUnsupported
/// if it does not know the target.
core::Result<KernelBinary> compile_kernels(std::span<const KernelText> texts, CompileTarget target);

/// Binaries on disk by a hash of text, target, options and the compiler's version: the same kernels
/// are compiled once on a machine.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// From the folder, or compiled and written there. A file that cannot be read, or that was cut
  /// off, is made again. Errors: of compile_kernels, and of files that cannot be written.
  core::Result<KernelBinary> get(std::span<const KernelText> texts, CompileTarget target);
  int hits() const { return hits_; }

 private:
  std::filesystem::path folder_;
  int hits_ = 0;
};

}  // namespace soapstone::gpu
