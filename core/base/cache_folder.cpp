// See cache_folder.h.
#include "core/base/cache_folder.h"

#include <cstdlib>

namespace soapstone::core {

std::filesystem::path cache_folder() {
  const std::filesystem::path folder("soapstone");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && std::filesystem::path(cache).is_absolute()) return cache / folder;
  const char* home = std::getenv("HOME");
  if (!home || !std::filesystem::path(home).is_absolute()) return {};
  return home / (".cache" / folder);
}

}  // namespace soapstone::core
