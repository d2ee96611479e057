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
  /// To which convolutions and products may round what they multiply: kFloat32, which rounds
  /// nothing, kBFloat16, or kInt8, with scales. Rounding is one of a launch's candidates; who
  /// measures chooses it where it is faster, and nothing is rounded otherwise.
  core::DataType precision = core::DataType::kFloat32;
};

/// Compiled primitives are kept in oneDNN's own cache, which drops the least recently used, so
/// that compiling the same launch again is cheap. Kernels of one backend run one at a time.
/// Errors: kUnavailable if the processor lacks what oneDNN or the precision needs; kInvalidInput
/// for less than one thread, and for another precision.
core::Result<std::unique_ptr<runtime::Backend>> make_cpu_backend(const CpuOptions& options = {});

}  // namespace soapstone::cpu
