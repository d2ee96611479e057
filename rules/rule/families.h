// The instances of one rule as written: what is proved, labeled and reported together.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

/// Whether both are instances of one rule of one file.
inline bool same_family(const Rule& a, const Rule& b) {
  return a.base_name == b.base_name && a.line == b.line && a.file == b.file;
}

/// Consecutive instances of one rule of one file, in order. `R` is Rule or const Rule.
template <class R>
std::vector<std::span<R>> families(std::span<R> rules) {
  std::vector<std::span<R>> found;
  for (std::size_t first = 0, last = 0; first < rules.size(); first = last) {
    while (last < rules.size() && same_family(rules[first], rules[last])) ++last;
    found.push_back(rules.subspan(first, last - first));
  }
  return found;
}
inline std::vector<std::span<const Rule>> families(const std::vector<Rule>& rules) {
  return families(std::span<const Rule>(rules));
}

/// The name in the file, without an instance.
inline std::string base_name(std::string_view name) {
  return std::string(name.substr(0, name.find('[')));
}

/// Where a rule stands: `file:line`, or `line N of the rules given as text`.
std::string place_of(const Rule& rule);

std::string place_of(const WrittenRule& rule);

/// Errors: kInvalidInput if two rules of different files, or of a file and of a text, have the same
/// name: nobody could choose one of them, or tell them apart in a report.
core::Status check_names(std::span<const Rule> rules, std::span<const WrittenRule> written);

}  // namespace soapstone::rules
