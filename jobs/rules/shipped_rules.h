// Which rule files are those that this program was built with. The build's tests prove every rule
// of these (tests/cli/belief_test.py), so they need no proof again where they are used.
#pragma once

#include <span>
#include <string_view>

namespace soapstone::jobs {

/// SHA-256 of the files `rules/*.rules` as they were when this was built. Made by
/// cmake/shipped_digests.cmake.
std::span<const std::string_view> shipped_digests();

/// Whether a rule file with these bytes is a shipped one, wherever it lies.
bool is_shipped(std::string_view file_text);

}  // namespace soapstone::jobs
