// Which runtime is meant, and how its worker is started: which Python runs it, and where the
// program is.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "workers/runtime_worker.h"

namespace soapstone::workers {

struct RuntimeChoice {
  enum class Kind { kOnnxRuntime, kOpenVino, kCommand };
  Kind kind = Kind::kOnnxRuntime;
  std::vector<std::string> command;  ///< Of kCommand: the program and its arguments.
  std::string python;                ///< Of the others; empty: see pythons_to_try().
};

/// `onnxruntime`, `openvino` or `command:PROGRAM ARGUMENT...`, whose words are separated by spaces
/// and may be quoted with ' or ". Errors: kUsage.
core::Result<RuntimeChoice> parse_runtime(std::string_view text);

/// The folder of the programs: $SOAPSTONE_WORKERS_DIR, beside the installed executable, or in the
/// sources.
std::filesystem::path workers_folder();

/// `named` alone if there is one; else $SOAPSTONE_PYTHON, the one of the build, python3 in PATH.
std::vector<std::string> pythons_to_try(const std::string& named);

/// With the first Python that can import the runtime.
/// Errors: kUnavailable if none can: what each said, and the pip command as a hint.
core::Result<RuntimeWorker> start_runtime_worker(const RuntimeChoice& choice);

}  // namespace soapstone::workers
