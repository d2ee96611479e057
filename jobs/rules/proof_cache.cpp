// See proof_cache.h. An entry is a header, its key, its value, and a checksum of these.
#include "jobs/rules/proof_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "core/base/cache_folder.h"
#include "core/base/sha256.h"
#include "jobs/rules/build_id.h"
#include "verifier/batch.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "soapstone proof 1\n";
constexpr std::size_t kLargest = 1 << 16;
constexpr mode_t kOwnFolder = 0700, kOwnFile = 0600, kOthers = 0077;

fs::path wanted_folder() {
  const fs::path cache = core::cache_folder();
  return cache.empty() ? cache : cache / "proofs";
}

/// Nobody else may have written it.
bool is_own(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & kOthers) == 0;
}

std::string entry_text(const std::string& key, const std::string& value) {
  std::string text = fmt::format("{}{}\n{}\n", kHeader, key, value);
  return text + core::sha256(text) + "\n";
}

/// The whole file, if it is the user's own.
std::optional<std::string> read_own(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  struct stat status {};
  bool good = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && is_own(status);
  char buffer[4096];
  while (good) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count == 0) break;
    good = count > 0 && text.size() < kLargest;
    if (good) text.append(buffer, static_cast<std::size_t>(count));
  }
  close(file);
  return good ? std::optional(std::move(text)) : std::nullopt;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

ProofCache::ProofCache(core::ProgressSink& log) : log_(log) {
  const fs::path folder = wanted_folder();
  if (folder.empty() || build_id().empty()) return;
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), kOwnFolder);  // that it is there already is fine
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    log_.log(core::LogLevel::kInfo,
             fmt::format("proofs are not kept: there is no folder {}", folder.string()));
  } else if (!is_own(status)) {
    log_.log(core::LogLevel::kWarning,
             fmt::format("proofs are not kept in {}: others may write or read there (chmod 700)",
                         folder.string()));
  } else {
    folder_ = folder;
  }
}

std::string ProofCache::key(std::span<const rules::Rule> instances) {
  std::string text = fmt::format("verifier {}; z3 {}; build {}\n", verifier::kVersion,
                                 verifier::z3_version(), build_id());
  for (const rules::Rule& instance : instances) {
    rules::Rule plain = instance;
    plain.evidence = {};
    plain.description.clear();
    text += rules::print(plain);
  }
  return core::sha256(text);
}

std::optional<std::string> ProofCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = folder_ / key;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return std::nullopt;
  const auto text = read_own(path);
  const std::string begin = fmt::format("{}{}\n", kHeader, key);
  if (text && text->starts_with(begin)) {
    const std::string rest = text->substr(begin.size());
    const std::string value = rest.substr(0, rest.find('\n'));
    if (*text == entry_text(key, value)) return value;
  }
  log_.log(core::LogLevel::kWarning,
           fmt::format("{} is damaged or not your own: the rule is proved again", path.string()));
  return std::nullopt;
}

void ProofCache::put(const std::string& key, const std::string& value) const {
  if (folder_.empty() || value.find('\n') != std::string::npos) return;
  const fs::path path = folder_ / key;
  const std::string temporary = fmt::format("{}.{}", path.string(), getpid());
  const int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnFile);
  if (file < 0) return;
  const bool written = write_all(file, entry_text(key, value));
  if (close(file) != 0 || !written || rename(temporary.c_str(), path.c_str()) != 0)
    unlink(temporary.c_str());
}

}  // namespace soapstone::jobs
