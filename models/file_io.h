// Files as a whole: mapped for reading, written beside their final place and renamed. Knows
// nothing of models.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "core/result.h"

namespace soapstone::models {

/// The bytes of a regular file, read-only.
class MappedFile {
 public:
  /// Errors: kInvalidInput if it is missing, unreadable or not a regular file.
  static core::Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const void* address, std::size_t size_bytes) : address_(address), size_(size_bytes) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  const void* address_;
  std::size_t size_;
};

/// A file that appears under its name with all of its contents, or not at all.
class AtomicFile {
 public:
  /// A symbolic link is followed, so that it still is one afterwards.
  /// Errors: kInvalidInput if nothing can be created there.
  static core::Result<std::unique_ptr<AtomicFile>> create(const std::filesystem::path& path);
  /// Use create().
  AtomicFile(std::filesystem::path target, std::filesystem::path temporary, int descriptor)
      : target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  /// Removes what was written if commit() was not called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// Errors: kUnavailable if the disk is full or fails.
  core::Status write(std::span<const std::byte> bytes);
  /// Flushes to the disk and puts the file in its place.
  core::Status commit();

 private:
  std::filesystem::path target_, temporary_;
  int descriptor_;
};

}  // namespace soapstone::models
