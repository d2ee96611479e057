// See families.h.
#include "rules/rule/families.h"

#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace soapstone::rules {

std::string place_of(const Rule& rule) {
  if (rule.file.empty()) return fmt::format("line {} of the rules given as text", rule.line);
  return fmt::format("{}:{}", rule.file.string(), rule.line);
}

core::Status check_names(std::span<const Rule> rules) {
  std::unordered_map<std::string_view, const Rule*> known;
  for (const Rule& rule : rules) {
    const Rule& first = *known.emplace(rule.base_name, &rule).first->second;
    if (same_family(first, rule)) continue;
    return core::invalid_input(fmt::format("there are two rules {}: the other one is at {}",
                                           rule.base_name, place_of(first)),
                               "rename one of them")
        .at(place_of(rule));
  }
  return core::Done{};
}

}  // namespace soapstone::rules
