// Where a user's programs keep what they can make again.
#pragma once

#include <filesystem>

namespace soapstone::core {

/// `$XDG_CACHE_HOME/soapstone`, or ~/.cache/soapstone; empty: neither is an absolute path.
std::filesystem::path cache_folder();

}  // namespace soapstone::core
