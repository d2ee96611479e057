// A folder for files that two processes exchange, readable by this user alone.
#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace soapstone::workers {

/// Gone with everything in it when its owner is.
class PrivateFolder {
 public:
  /// `parent`/.soapstone-XXXXXX. Errors: kUnavailable.
  static core::Result<PrivateFolder> make(const std::filesystem::path& parent);
  /// In the system's folder for temporary files.
  static core::Result<PrivateFolder> make();
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  void remove();
  std::filesystem::path path_;
};

}  // namespace soapstone::workers
