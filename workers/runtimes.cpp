// See runtimes.h.
#include "workers/runtimes.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace soapstone::workers {

namespace fs = std::filesystem;

namespace {

/// A runtime whose worker comes with us.
struct Shipped {
  const char* name;
  const char* program;  ///< In workers_folder().
  const char* package;  ///< Of the Python package index.
};
constexpr Shipped kOnnxRuntimeWorker{"ONNX Runtime", "onnxruntime_worker.py", "onnxruntime"};
constexpr Shipped kOpenVinoWorker{"OpenVINO", "openvino_worker.py", "openvino"};

/// The words of a command line. Errors: kUsage: a quotation that does not end.
core::Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  if (quote == 0) return words;
  return core::Error{
      core::ErrorCode::kUsage, fmt::format("a {} does not end in '{}'", quote, text), {}, {}};
}

core::Result<RuntimeWorker> start_command(const std::vector<std::string>& command) {
  WorkerOptions options;
  options.command = command;
  auto worker = RuntimeWorker::start(std::move(options));
  if (worker) return worker;
  core::Error error = worker.error();
  error.hint = "the program must speak the worker protocol, docs/workers.md";
  return error;
}

}  // namespace

core::Result<RuntimeChoice> parse_runtime(std::string_view text) {
  constexpr std::string_view kCommandPrefix = "command:";
  if (text == "onnxruntime") return RuntimeChoice{RuntimeChoice::Kind::kOnnxRuntime, {}, {}};
  if (text == "openvino") return RuntimeChoice{RuntimeChoice::Kind::kOpenVino, {}, {}};
  if (text.starts_with(kCommandPrefix)) {
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<std::string> command,
                               words_of(text.substr(kCommandPrefix.size())));
    if (!command.empty())
      return RuntimeChoice{RuntimeChoice::Kind::kCommand, std::move(command), {}};
  }
  return core::Error{core::ErrorCode::kUsage,
                     fmt::format("there is no runtime '{}'", text),
                     {},
                     "onnxruntime, openvino or command:PROGRAM ARGUMENT..."};
}

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

core::Result<RuntimeWorker> start_runtime_worker(const RuntimeChoice& choice) {
  if (choice.kind == RuntimeChoice::Kind::kCommand) return start_command(choice.command);
  const Shipped& runtime =
      choice.kind == RuntimeChoice::Kind::kOpenVino ? kOpenVinoWorker : kOnnxRuntimeWorker;
  const std::string program = (workers_folder() / runtime.program).string();
  const std::vector<std::string> pythons = pythons_to_try(choice.python);
  std::string reasons;
  for (const std::string& python : pythons) {
    WorkerOptions options;
    options.command = {python, program};
    auto worker = RuntimeWorker::start(std::move(options));
    if (worker) return worker;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", python, worker.error().message);
  }
  return core::unavailable(fmt::format("{} cannot be run ({})", runtime.name, reasons),
                           fmt::format("{} -m pip install {}, or name another Python with --python "
                                       "or SOAPSTONE_PYTHON",
                                       pythons.front(), runtime.package));
}

}  // namespace soapstone::workers
