// POSIX calls behind file_io.h. Every failure becomes an Error with the system's own reason.
#include "models/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace soapstone::models {
namespace {

std::string reason() { return std::generic_category().message(errno); }

core::Error cannot_read(const std::filesystem::path& path, std::string why) {
  core::Error error = core::invalid_input("cannot be read: " + std::move(why));
  return error.at(path.string());
}

core::Error cannot_create(const std::filesystem::path& path, std::string why) {
  core::Error error = core::invalid_input("cannot be written: " + std::move(why),
                                          "give a path in a directory that you may write to");
  return error.at(path.string());
}

core::Error write_failed(const std::filesystem::path& path) {
  return core::unavailable("writing failed: " + reason()).at(path.string());
}

struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

core::Result<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::filesystem::path& path) {
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

core::Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(path, error)) {
    target = std::filesystem::weakly_canonical(path, error);
    if (error) return cannot_create(path, error.message());
  }
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::is_directory(status)) return cannot_create(path, "it is a directory");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return cannot_create(path, "it is not a regular file");
  }
  // The first free number: two writers of one file do not write into each other's bytes.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::filesystem::path temporary = target;
    temporary += fmt::format(".{}.{}.tmp", ::getpid(), attempt);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      return std::make_unique<AtomicFile>(std::move(target), std::move(temporary), descriptor);
    }
    if (errno != EEXIST) break;
  }
  return cannot_create(path, reason());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

core::Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_failed(target_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return core::Done{};
}

core::Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) return write_failed(target_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return write_failed(target_);
  ::close(descriptor_);
  descriptor_ = -1;
  return core::Done{};
}

}  // namespace soapstone::models
