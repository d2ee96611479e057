// Finds the name that somebody probably meant, for messages such as "did you mean relu?".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace soapstone::core {

/// The candidate that takes the fewest edits to reach, if that is few for its length; else empty.
std::string nearest(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace soapstone::core
