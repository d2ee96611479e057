// See private_folder.h.
#include "core/base/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>  // mkdtemp
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace soapstone::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".soapstone-run-";

/// A descriptor of the folder, which must be no link; -1: there is none.
int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether the folder with this descriptor is still the one that has the name.
bool is_at(int folder, const fs::path& path) {
  struct stat here {};
  struct stat there {};
  return ::fstat(folder, &here) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/// Whether only this user can have put anything into the folder.
bool is_ours_alone(int folder) {
  struct stat status {};
  return ::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0;
}

void remove_if_left_behind(const fs::path& path) {
  const int folder = open_folder(path);
  if (folder < 0) return;
  std::error_code ignored;
  if (is_ours_alone(folder) && ::flock(folder, LOCK_EX | LOCK_NB) == 0 && is_at(folder, path))
    fs::remove_all(path, ignored);
  ::close(folder);
}

/// Folders of this process are safe as well, since a lock belongs to the descriptor that took it.
void remove_left_behind(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().native().starts_with(kPrefix)) remove_if_left_behind(at->path());
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(const fs::path& parent) {
  remove_left_behind(parent);
  const fs::path form =
      (parent.empty() ? fs::path(".") : parent) / (std::string(kPrefix) + "XXXXXX");
  // Until the lock is taken, others may take a new folder for one that was left behind.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = form.string();
    if (mkdtemp(name.data()) == nullptr) break;
    const int folder = open_folder(name);
    // A file system without locks has nobody who could take the folder, either.
    if (folder >= 0) static_cast<void>(::flock(folder, LOCK_EX));
    if (folder >= 0 && is_at(folder, name)) return PrivateFolder(name, folder);
    if (folder >= 0) ::close(folder);
  }
  return unavailable(fmt::format("no temporary folder can be made: {}", std::strerror(errno)))
      .at(parent.string());
}

Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return unavailable("there is no folder for temporary files", "set TMPDIR");
  return make(parent);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {
  other.path_.clear();
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, fs::path());
  lock_ = std::exchange(other.lock_, -1);
  return *this;
}

PrivateFolder::~PrivateFolder() { remove(); }

void PrivateFolder::remove() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace soapstone::core
