// See rules_report.h.
#include "cli/optimize/rules_report.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "rules/rule/families.h"

namespace soapstone::cli {
namespace {

std::string evidence_text(const rules::Rule& rule) {
  switch (rule.evidence.kind) {
  case rules::Evidence::Kind::kNone:
    return "none";
  case rules::Evidence::Kind::kChecked:
    return "checked";
  case rules::Evidence::Kind::kProved:
    return "proved";
  }
  return "";
}

std::string edges_text(const rules::Rule& rule) {
  return rule.edges ? rules::to_string(*rule.edges) : "unknown";
}

std::vector<std::string_view> prefixes_of(const transforms::Transform& transform) {
  std::vector<std::string_view> prefixes;
  std::ranges::copy_if(transform.prefixes, std::back_inserter(prefixes),
                       [](std::string_view prefix) { return !prefix.empty(); });
  return prefixes;
}

std::string transforms_text(const Transforms& transforms) {
  if (transforms.empty()) return {};
  Table table({{"transform"}, {"what it does; its rules are made and proved for each graph"}});
  for (const auto* const transform : transforms)
    table.add_row({std::string(transform->name), std::string(transform->summary)});
  return "\n" + table.to_string();
}

}  // namespace

std::string rules_text(const jobs::LoadedRules& loaded, const Transforms& transforms) {
  Table table({{"rule"},
               {"instances", Align::kRight},
               {"evidence"},
               {"types"},
               {"floats"},
               {"what it does"},
               {"edges"}});
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for (const std::span<const rules::Rule> family : rules::families(*list)) {
      const rules::Rule& rule = family.front();
      table.add_row({rule.base_name, fmt::to_string(family.size()), evidence_text(rule),
                     rules::to_string(rule.types), std::string(rules::to_string(rule.floats)),
                     rule.description, edges_text(rule)});
    }
  }
  return table.to_string() + transforms_text(transforms);
}

std::string rules_json(const jobs::LoadedRules& loaded, const Transforms& transforms) {
  auto json = nlohmann::ordered_json::array();
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for (const std::span<const rules::Rule> family : rules::families(*list)) {
      const rules::Rule& rule = family.front();
      json.push_back({{"rule", rule.base_name},
                      {"baseline", list == &loaded.baseline},
                      {"instances", family.size()},
                      {"evidence", evidence_text(rule)},
                      {"types", rules::to_string(rule.types)},
                      {"floats", rules::to_string(rule.floats)},
                      {"edges", edges_text(rule)},
                      {"description", rule.description},
                      {"file", rule.file.filename().string()},
                      {"line", rule.line}});
    }
  }
  for (const auto* const transform : transforms)
    json.push_back({{"transform", transform->name},
                    {"description", transform->summary},
                    {"rules_begin_with", prefixes_of(*transform)}});
  return json_text(json);
}

}  // namespace soapstone::cli
