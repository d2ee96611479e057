// Rules from text, for tests of every folder above rules/.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "rules/rule/rule.h"

namespace soapstone {

/// The text of merge_matmuls.rules, the example that most tests use: it is true, it pays, and it
/// can be applied again to its own result. Python tests read the same file.
inline const std::string kMergeMatmuls = [] {
  const auto path =
      std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "tests/support/merge_matmuls.rules";
  std::ifstream file(path);
  CHECK(file.good(), "cannot read " + path.string());
  return std::string(std::istreambuf_iterator<char>(file), {});
}();

/// All rules of the text, instances of one rule side by side. A text that does not parse fails the
/// test and gives no rules.
inline std::vector<rules::Rule> rules_of(std::string_view text,
                                         const std::filesystem::path& file = {}) {
  auto parsed = rules::parse_rules(text, file);
  if (!parsed) ADD_FAILURE() << parsed.error().to_string() << "\nin\n" << text;
  return parsed ? std::move(parsed->rules) : std::vector<rules::Rule>();
}

inline rules::RuleSet rule_set_of(std::string_view text) { return rules::RuleSet(rules_of(text)); }

/// The first rule of the text.
inline rules::Rule rule_of(std::string_view text) { return rules_of(text).at(0); }

/// A rule from `x: [m, n]`, `y = relu(x)` and `y = x`; several statements are lines of their own.
inline std::string rule_text(const std::string& inputs, const std::string& source,
                             const std::string& target) {
  return "rule r\n  " + inputs + "\n  source\n    " + source + "\n  target\n    " + target + "\n";
}

inline rules::Rule rule_of(const std::string& inputs, const std::string& source,
                           const std::string& target) {
  return rule_of(rule_text(inputs, source, target));
}

}  // namespace soapstone
