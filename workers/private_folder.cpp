// See private_folder.h.
#include "workers/private_folder.h"

#include <cerrno>
#include <cstdlib>  // mkdtemp
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace soapstone::workers {

namespace fs = std::filesystem;

core::Result<PrivateFolder> PrivateFolder::make(const fs::path& parent) {
  std::string name = ((parent.empty() ? fs::path(".") : parent) / ".soapstone-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return core::unavailable(
               fmt::format("no temporary folder can be made: {}", std::strerror(errno)))
        .at(parent.string());
  }
  return PrivateFolder(name);
}

core::Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return core::unavailable("there is no folder for temporary files", "set TMPDIR");
  return make(parent);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, fs::path());
  return *this;
}

PrivateFolder::~PrivateFolder() { remove(); }

void PrivateFolder::remove() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace soapstone::workers
