// See output_files.h.
#include "jobs/base/output_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

bool is_file(const OutputFile& file) { return !file.path.empty() && file.path != "-"; }

/// Whether writing one would destroy the other: no terminal, pipe or null device.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && !fs::is_regular_file(a, error)) return false;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(a, error), error);
  return first == fs::weakly_canonical(fs::absolute(b, error), error);
}

core::Error clash(std::string message, const OutputFile& file) {
  return usage_error(std::move(message), fmt::format("give another file as {}", file.name))
      .at(file.path);
}

/// Errors: kInvalidInput: no such folder, it is not writable, or the path is a folder.
core::Status check_writable(const OutputFile& file) {
  const auto error = [&](std::string_view reason) {
    return core::invalid_input(fmt::format("{}: cannot be written: {}", file.name, reason),
                               "choose a file in a writable folder")
        .at(file.path);
  };
  std::error_code ignored;
  const fs::path path(file.path);
  if (fs::is_directory(path, ignored)) return error("it is a directory");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path& asked = fs::exists(path, ignored) ? path : folder;
  if (access(asked.c_str(), W_OK) != 0) return error(std::strerror(errno));
  if (!fs::is_directory(folder, ignored)) return error(std::strerror(ENOTDIR));
  return core::Done{};
}

}  // namespace

core::Status check_outputs(const std::string& input, std::span<const OutputFile> files) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (!is_file(files[k])) continue;
    const auto& [name, path, may_be_input] = files[k];
    if (!may_be_input && !input.empty() && same_file(path, input))
      return clash(fmt::format("{} would overwrite the model", name), files[k]);
    for (const OutputFile& other : files.first(k))
      if (is_file(other) && same_file(path, other.path))
        return clash(fmt::format("{} and {} are the same file", other.name, name), files[k]);
  }
  for (const OutputFile& file : files)
    if (is_file(file)) SOAPSTONE_RETURN_IF_ERROR(check_writable(file));
  return core::Done{};
}

}  // namespace soapstone::jobs
