// A folder for temporary files, readable by this user alone.
#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace soapstone::core {

/// Gone with everything in it when its owner is. A process that is killed leaves its folders
/// behind, and the next one that makes a folder there removes them: the owner of a folder holds a
/// lock on it, which ends with the process.
class PrivateFolder {
 public:
  /// `parent`/.soapstone-run-XXXXXX. Errors: kUnavailable.
  static Result<PrivateFolder> make(const std::filesystem::path& parent);
  /// In the system's folder for temporary files.
  static Result<PrivateFolder> make();
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  void remove();
  std::filesystem::path path_;
  int lock_ = -1;  ///< A descriptor of the folder.
};

}  // namespace soapstone::core
