// "Did you mean …?" for names that were nearly right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace soapstone::cli {

/// The candidate that takes the fewest edits to reach, if that is few for its length; else empty.
std::string nearest(std::string_view given, const std::vector<std::string>& candidates);

/// The argument that `app` could not place: an option if there is one, else the first; or empty.
std::string surplus_argument(const CLI::App& app);
/// `did you mean --shape?` for that argument, or empty.
std::string suggest_option(const CLI::App& app);

}  // namespace soapstone::cli
