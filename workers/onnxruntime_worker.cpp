// See onnxruntime_worker.h.
#include "workers/onnxruntime_worker.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace soapstone::workers {

namespace fs = std::filesystem;

fs::path workers_folder() {
  if (const char* folder = std::getenv("SOAPSTONE_WORKERS_DIR"); folder != nullptr) return folder;
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  fs::path installed = executable.parent_path().parent_path() / "share/soapstone/workers";
  if (fs::is_directory(installed, ignored)) return installed;
  return SOAPSTONE_SOURCE_WORKERS_DIR;
}

std::vector<std::string> pythons_to_try(const std::string& named) {
  if (!named.empty()) return {named};
  std::vector<std::string> pythons;
  const auto add = [&](std::string python) {
    if (!python.empty() && std::ranges::find(pythons, python) == pythons.end())
      pythons.push_back(std::move(python));
  };
  if (const char* python = std::getenv("SOAPSTONE_PYTHON"); python != nullptr) add(python);
  std::error_code ignored;
  if (fs::exists(SOAPSTONE_DEFAULT_PYTHON, ignored)) add(SOAPSTONE_DEFAULT_PYTHON);
  add("python3");
  return pythons;
}

core::Result<RuntimeWorker> start_onnxruntime(const std::string& named_python) {
  const std::string program = (workers_folder() / "onnxruntime_worker.py").string();
  std::string reasons;
  for (const std::string& python : pythons_to_try(named_python)) {
    WorkerOptions options;
    options.command = {python, program};
    auto worker = RuntimeWorker::start(std::move(options));
    if (worker) return worker;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", python, worker.error().message);
  }
  return core::unavailable(fmt::format("ONNX Runtime cannot be run ({})", reasons),
                           "pip install onnxruntime, and name that Python with --python or "
                           "SOAPSTONE_PYTHON");
}

}  // namespace soapstone::workers
