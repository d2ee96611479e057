// Reads a text as JSON and says where it is none. A template, so that no header shows which library
// parses it.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

/// Errors: kInvalidInput if this is no JSON, a number has no place in a double, or an object has a
/// key twice.
template <class Json>
core::Result<Json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // Of the objects that are open.
  std::string twice;
  const auto look = [&](int, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.template get<std::string>()).second)
      twice = parsed.template get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(text, look);
    if (!twice.empty())
      return core::invalid_input("an object has the key '" + twice + "' twice", "keep one of them");
    return json;
  } catch (const typename Json::parse_error& problem) {
    const std::string_view read = text.substr(0, problem.byte);
    return core::invalid_input("this is no JSON: after " + std::to_string(read.size()) +
                               " bytes, in line " +
                               std::to_string(1 + std::count(read.begin(), read.end(), '\n')));
  } catch (const typename Json::out_of_range&) {
    return core::invalid_input("a number is out of range");
  }
}

}  // namespace soapstone::parallel
