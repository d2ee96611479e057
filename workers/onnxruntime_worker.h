// ONNX Runtime as a worker: which Python runs it, and where the program is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "workers/runtime_worker.h"

namespace soapstone::workers {

/// The folder of the programs: $SOAPSTONE_WORKERS_DIR, beside the installed executable, or in the
/// sources.
std::filesystem::path workers_folder();

/// `named` alone if there is one; else $SOAPSTONE_PYTHON, the one of the build, python3 in PATH.
std::vector<std::string> pythons_to_try(const std::string& named);

/// With the first Python that can import onnxruntime.
/// Errors: kUnavailable if none can: what each said, and the pip command as a hint.
core::Result<RuntimeWorker> start_onnxruntime(const std::string& named_python);

}  // namespace soapstone::workers
