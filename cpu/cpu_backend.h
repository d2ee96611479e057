// oneDNN on a CPU. oneDNN's types stay behind this header.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/launches/backend.h"

namespace soapstone::cpu {

struct CpuOptions {
  /// Used by each kernel while it runs (OpenMP threads of the thread that runs it).
  int threads = 1;
  /// Where compiled loops of Fusion::kGenerated are kept; empty: default_loop_folder().
  std::filesystem::path loops = {};
};

/// Compiled primitives are kept in oneDNN's own cache, which drops the least recently used, so
/// that compiling the same launch again is cheap. Kernels of one backend run one at a time.
/// Errors: kUnavailable if the processor lacks what oneDNN needs; kInvalidInput for less than one
/// thread.
core::Result<std::unique_ptr<runtime::Backend>> make_cpu_backend(const CpuOptions& options = {});

}  // namespace soapstone::cpu
