// POSIX calls behind file_io.h. Every failure becomes an Error with the system's own reason.
#include "core/base/file_io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace soapstone::core {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::generic_category().message(errno); }

Error cannot_read(const fs::path& path, std::string why) {
  return invalid_input("cannot be read: " + std::move(why)).at(path.string());
}

Error cannot_create(const fs::path& path, std::string why) {
  return invalid_input("cannot be written: " + std::move(why),
                       "give a path in a directory that you may write to")
      .at(path.string());
}

Error write_failed(const fs::path& path) {
  return unavailable("writing failed: " + reason(), "nothing was written; is the disk full?")
      .at(path.string());
}

struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

Status write_all(int descriptor, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_failed(path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Done{};
}

fs::path temporary_name(const fs::path& target, int attempt) {
  fs::path name = target;
  name += "." + std::to_string(::getpid()) + "." + std::to_string(attempt) + ".tmp";
  return name;
}

/// How another call names an open file that has no name of its own.
std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// The first free temporary name that `make` takes: two writers of one file do not write into each
/// other's bytes. Empty: none; errno says why.
template <class Make>
fs::path first_free(const fs::path& target, const Make& make) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    fs::path name = temporary_name(target, attempt);
    if (make(name)) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

/// Gives the new file the permissions of the one that it replaces.
void keep_permissions(const fs::path& target, int descriptor) {
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) (void)!::fchmod(descriptor, status.st_mode & 07777);
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) return cannot_read(path, reason());
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string contents;
  for (std::size_t size = 0;;) {
    contents.resize(size + kPiece);
    const ssize_t count = ::read(file.value, contents.data() + size, kPiece);
    if (count < 0 && errno != EINTR) return cannot_read(path, reason());
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count != 0) continue;
    contents.resize(size);
    return contents;
  }
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) return cannot_read(path, reason());
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return cannot_read(path, reason());
  if (S_ISDIR(status.st_mode)) return cannot_read(path, "it is a directory");
  if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::make_shared<const MappedFile>(nullptr, 0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED) return cannot_read(path, reason());
  return std::make_shared<const MappedFile>(address, size);
}

MappedFile::~MappedFile() {
  if (size_ != 0) ::munmap(const_cast<void*>(address_), size_);
}

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const fs::path& path) {
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(path, error)) {
    target = fs::weakly_canonical(path, error);
    if (error) return cannot_create(path, error.message());
  }
  const auto status = fs::status(target, error);
  if (fs::is_directory(status)) return cannot_create(path, "it is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return cannot_create(path, "it is not a regular file");
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  fs::path temporary;
  if (descriptor < 0 || ::access(path_of(descriptor).c_str(), F_OK) != 0) {
    if (descriptor >= 0) ::close(descriptor);
    temporary = first_free(target, [&](const fs::path& name) {
      descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return descriptor >= 0;
    });
    if (temporary.empty()) return cannot_create(path, reason());
  }
  keep_permissions(target, descriptor);
  return std::make_unique<AtomicFile>(std::move(target), std::move(temporary), descriptor);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  return write_all(descriptor_, bytes, target_);
}

/// A link cannot replace a file, so that it gets a temporary name first.
Status AtomicFile::give_name() {
  if (!temporary_.empty()) return Done{};
  temporary_ = first_free(target_, [&](const fs::path& name) {
    return ::linkat(AT_FDCWD, path_of(descriptor_).c_str(), AT_FDCWD, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
  });
  if (temporary_.empty()) return write_failed(target_);
  return Done{};
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) return write_failed(target_);
  SOAPSTONE_RETURN_IF_ERROR(give_name());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return write_failed(target_);
  ::close(descriptor_);
  descriptor_ = -1;
  return Done{};
}

Result<std::unique_ptr<LineFile>> LineFile::create(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return cannot_create(path, reason());
  return std::make_unique<LineFile>(path, descriptor);
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::append(std::string_view line) {
  if (!status_) return;
  status_ = write_all(descriptor_, std::as_bytes(std::span(line)), path_);
  if (status_)
    size_ += static_cast<std::int64_t>(line.size());
  else
    (void)!::ftruncate(descriptor_, size_);
}

Status write_file(const fs::path& path, std::string_view contents) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (file.value < 0) return cannot_create(path, reason());
    return write_all(file.value, std::as_bytes(std::span(contents)), path);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, AtomicFile::create(path));
  SOAPSTONE_RETURN_IF_ERROR(file->write(contents));
  return file->commit();
}

}  // namespace soapstone::core
