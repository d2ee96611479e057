// A folder for one test's files, gone when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace soapstone {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "soapstone-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : std::filesystem::temp_directory_path().string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (path_ != std::filesystem::temp_directory_path()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace soapstone
