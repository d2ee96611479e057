// See output_files.h.
#include "jobs/base/output_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/base/file_io.h"
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
  const std::string replace = file.permission.empty()
                                  ? std::string()
                                  : fmt::format(", or set {} to replace it", file.permission);
  return usage_error(std::move(message),
                     fmt::format("give another file as {}{}", file.name, replace))
      .at(file.path);
}

/// Makes a file there that gets no name, since permissions do not tell of disks that can only be
/// read, nor of folders in which the system shows its own state.
/// Errors: kInvalidInput: no such folder, it is not writable, or the path is a folder.
core::Status check_writable(const OutputFile& file) {
  const auto error = [&](std::string_view reason) {
    return core::invalid_input(fmt::format("{}: {}", file.name, reason),
                               "choose a file in a writable folder")
        .at(file.path);
  };
  std::error_code ignored;
  const fs::file_status status = fs::status(file.path, ignored);
  const bool is_other = fs::exists(status) && !fs::is_regular_file(status);
  if (fs::exists(status) && access(file.path.c_str(), W_OK) != 0)
    return error(fmt::format("cannot be written: {}", std::strerror(errno)));
  if (is_other && !fs::is_directory(status) && !file.is_regular) return core::Done{};
  const auto made = core::AtomicFile::create(file.path);
  return made ? core::Status(core::Done{}) : error(made.error().message);
}

}  // namespace

core::Status check_outputs(std::span<const InputFile> inputs, std::span<const OutputFile> files) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (!is_file(files[k])) continue;
    const auto& [name, path, may_be_input, is_regular, permission] = files[k];
    for (const InputFile& input : inputs)
      if (!may_be_input && !input.path.empty() && same_file(path, input.path))
        return clash(fmt::format("{} would overwrite {}", name, input.name), files[k]);
    for (const OutputFile& other : files.first(k))
      if (is_file(other) && same_file(path, other.path))
        return clash(fmt::format("{} and {} are the same file", other.name, name), files[k]);
  }
  for (const OutputFile& file : files)
    if (is_file(file)) SOAPSTONE_RETURN_IF_ERROR(check_writable(file));
  return core::Done{};
}

}  // namespace soapstone::jobs
