// See printed_attributes.h.
#include "generator/generalization/printed_attributes.h"

#include <sstream>

#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

/// The operator of a line `    y = conv(x, w; group=2)`; null: it applies none.
const core::OpSchema* operator_of(const std::string& line) {
  const std::size_t equals = line.find(" = "), open = line.find('(', equals);
  if (equals == std::string::npos || open == std::string::npos) return nullptr;
  return ops::registry().find(line.substr(equals + 3, open - equals - 3));
}

}  // namespace

Given given(const std::string& line, core::AttributeRole role) {
  const core::OpSchema* op = operator_of(line);
  const core::AttributeSchema* schema = op != nullptr ? op->find_role(role) : nullptr;
  if (schema == nullptr) return {};
  for (const char* before : {"; ", ", "}) {
    const std::string key = before + schema->name + "=";
    const std::size_t found = line.find(key);
    if (found == std::string::npos) continue;
    const std::size_t begin = found + key.size();
    const bool is_list = line[begin] == '[';
    const std::size_t end = is_list ? line.find(']', begin) + 1 : line.find_first_of(",)", begin);
    return {begin, end - begin};
  }
  return {};
}

std::optional<std::string> for_either_flag(const std::string& text) {
  constexpr auto kRole = core::AttributeRole::kCountsPad;
  std::istringstream lines(text);
  std::string result, line, loop;
  std::size_t pools = 0, flags = 0;
  while (std::getline(lines, line)) {
    const core::OpSchema* op = operator_of(line);
    if (const auto* schema = op != nullptr ? op->find_role(kRole) : nullptr) {
      ++pools;
      if (const Given flag = given(line, kRole)) {
        if (line.substr(flag.begin, flag.size) != "1") return std::nullopt;
        ++flags;
        line.replace(flag.begin, flag.size, "flag");
      } else {
        const std::size_t values = line.find("; ");
        if (values == std::string::npos) return std::nullopt;
        line.insert(values + 2, schema->name + "=flag, ");
      }
    }
    // Innermost: behind the loops that there are.
    if (loop.empty() && !line.starts_with("rule ") && !line.starts_with("  for "))
      loop = "  for flag in {0, 1}\n", result += loop;
    result += line + "\n";
  }
  if (pools == 0 || (flags != 0 && flags != pools)) return std::nullopt;
  return result;
}

}  // namespace soapstone::generator
