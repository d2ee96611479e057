// See output_files.h.
#include "jobs/base/output_files.h"

#include <fcntl.h>
#include <stdlib.h>  // mkstemp
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
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
  const std::string_view replace = file.is_model ? ", or set `overwrite` to replace the model" : "";
  return usage_error(std::move(message),
                     fmt::format("give another file as {}{}", file.name, replace))
      .at(file.path);
}

/// The reason why no file can be made there, by making one, since permissions do not tell of disks
/// that are only read, nor of folders that hold what a system shows of itself; empty: it can.
std::string why_not_in(const fs::path& folder) {
  int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  const bool has_nameless = descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR);
  if (!has_nameless) {
    std::string name = (folder / ".soapstone-XXXXXX").string();
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0) return std::strerror(errno);
  ::close(descriptor);
  return {};
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
  const bool exists = fs::exists(path, ignored);
  const bool is_regular = fs::is_regular_file(path, ignored);
  if (file.is_model && exists && !is_regular) return error("it is not a regular file");
  if (exists && access(path.c_str(), W_OK) != 0) return error(std::strerror(errno));
  if (exists && !is_regular) return core::Done{};
  // A link leads to the folder where the file will be.
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : path;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (const std::string reason = why_not_in(folder); !reason.empty()) return error(reason);
  return core::Done{};
}

}  // namespace

core::Status check_outputs(const std::string& input, std::span<const OutputFile> files) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (!is_file(files[k])) continue;
    const auto& [name, path, may_be_input, is_model] = files[k];
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
