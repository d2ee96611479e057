// See families.h.
#include "rules/rule/families.h"

#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace soapstone::rules {
namespace {

std::string place_text(const std::filesystem::path& file, int line) {
  if (file.empty()) return fmt::format("line {} of the rules given as text", line);
  return fmt::format("{}:{}", file.string(), line);
}

}  // namespace

std::string place_of(const Rule& rule) { return place_text(rule.file, rule.line); }
std::string place_of(const WrittenRule& rule) { return place_text(rule.file, rule.line); }

core::Status check_names(std::span<const Rule> rules, std::span<const WrittenRule> written) {
  std::unordered_map<std::string, std::string> places;  // by name
  const auto check = [&](const std::string& name, const auto& rule) -> core::Status {
    const std::string place = place_of(rule);
    const std::string& first = places.emplace(name, place).first->second;
    if (first == place) return core::Done{};
    return core::invalid_input(
               fmt::format("there are two rules {}: the other one is at {}", name, first),
               "rename one of them")
        .at(place);
  };
  for (const std::span<const Rule> family : families(rules))
    SOAPSTONE_RETURN_IF_ERROR(check(family.front().base_name, family.front()));
  for (const WrittenRule& rule : written)
    SOAPSTONE_RETURN_IF_ERROR(check(base_name(rule.name), rule));
  return core::Done{};
}

}  // namespace soapstone::rules
