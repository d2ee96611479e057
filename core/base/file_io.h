// Files as a whole: mapped for reading, and written so that a reader sees all of the new contents
// or none of them, whatever ends the process. Every output of every command goes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::core {

/// The bytes of a regular file, read-only.
class MappedFile {
 public:
  /// Errors: kInvalidInput if it is missing, unreadable or not a regular file.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const void* address, std::size_t size_bytes) : address_(address), size_(size_bytes) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), size_};
  }
  std::string_view text() const { return {static_cast<const char*>(address_), size_}; }

 private:
  const void* address_;
  std::size_t size_;
};

/// The whole contents of a file, a pipe or a terminal. For what is large and regular, MappedFile
/// copies nothing. Errors: kInvalidInput if it is missing or unreadable.
Result<std::string> read_file(const std::filesystem::path& path);

/// A file that appears under its name with all of its contents, or not at all. Until commit() it
/// has no name where the file system can do that, so that not even SIGKILL leaves a part of it
/// behind; elsewhere it has a temporary name beside the final one.
class AtomicFile {
 public:
  /// A symbolic link is followed, so that it still is one afterward. The permissions of a file
  /// that is there are kept. Errors: kInvalidInput if nothing can be created there, or if something
  /// other than a regular file is there.
  static Result<std::unique_ptr<AtomicFile>> create(const std::filesystem::path& path);
  /// Use create(). `temporary`: empty if the descriptor's file has no name.
  AtomicFile(std::filesystem::path target, std::filesystem::path temporary, int descriptor)
      : target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  /// Removes what was written if commit() was not called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// Errors: kUnavailable if the disk is full or fails.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Flushes to the disk and puts the file in its place. Errors: kUnavailable.
  Status commit();

 private:
  Status give_name();

  std::filesystem::path target_, temporary_;
  int descriptor_;
};

/// A file that grows while it is read by others (`tail -f`): by whole lines, so that a disk which
/// is full cuts none in the middle. The first failure is the last thing that happens to it.
class LineFile {
 public:
  /// A file that is there is emptied. Errors: kInvalidInput.
  static Result<std::unique_ptr<LineFile>> create(const std::filesystem::path& path);
  /// Use create().
  LineFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line`: with its end.
  void append(std::string_view line);
  /// Errors: kUnavailable if a line could not be written.
  Status status() const { return status_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::int64_t size_ = 0;
  Status status_ = Done{};
};

/// The whole file as one AtomicFile; what is no regular file (a terminal, a pipe, /dev/null) is
/// written directly. Errors: as of AtomicFile.
Status write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace soapstone::core
