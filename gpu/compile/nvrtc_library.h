// NVIDIA's run-time compiler as a library that is found at run time: a program that never compiles
// a kernel starts where it is missing.
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/result.h"

namespace soapstone::gpu {

/// A program is a pointer, as in NVRTC's own header. Results are those of the library.
struct Nvrtc {
  using Program = void*;
  static constexpr int kSuccess = 0, kInvalidOption = 5;

  std::function<int(int*, int*)> version;
  std::function<const char*(int)> error_text;
  /// Program, source, name, numbers of headers, headers, their names.
  std::function<int(Program*, const char*, const char*, int, const char* const*,
                    const char* const*)>
      create;
  std::function<int(Program*)> destroy;
  std::function<int(Program, int, const char* const*)> compile;  ///< Numbers of options, options.
  std::function<int(Program, std::size_t*)> log_size, cubin_size, ptx_size;
  std::function<int(Program, char*)> log, cubin, ptx;
};

/// Loaded at the first call. Errors: kUnavailable.
core::Result<const Nvrtc*> nvrtc();

}  // namespace soapstone::gpu
