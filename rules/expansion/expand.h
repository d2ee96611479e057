// Splits a rule file into rules and writes each out for all values of its `for` parameters. It
// works on words; of operators only `for f in functions` knows any.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::rules {

/// A rule as it stands in a file.
struct RuleText {
  std::string name;
  std::string description;  ///< The comment directly above it, as one line.
  int line = 0;             ///< The line of `rule`.
  std::string text;         ///< Its first line counts as line 1 in errors about it.
};

/// One choice of all parameters, in the language without `for`, `A..`, `|A|`, quotients and
/// optional inputs.
struct RuleInstance {
  std::string suffix;  ///< `A=1,f=relu`, or empty.
  std::string text;
};

struct SplitRules {
  std::vector<RuleText> rules;
  /// kInvalidInput: lines outside of rules that are no comments, rules without a name.
  std::vector<core::Error> errors;
};
/// Goes on behind an error at the next line that begins with `rule`.
SplitRules split_rules(std::string_view file_text);
/// Errors: kInvalidInput with line and column: malformed `for` or permutation, too many instances.
/// `numbers`: those of `siblings`; null: some that stand for all.
core::Result<std::vector<RuleInstance>> expand(const RuleText& rule,
                                               const std::set<int>* numbers = nullptr);

}  // namespace soapstone::rules
