// Splits a rule file into rules and writes each out for all values of its `for` parameters. It
// works on words; of operators only `for f in functions` knows any.
#pragma once

#include <functional>
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
/// What of a rule is written out.
struct ExpansionChoice {
  const std::set<int>* numbers = nullptr;  ///< Those of `siblings`; null: some that stand for all.
  /// Asked about the text whenever a loop is written out: an instance is made if it is wanted, and
  /// so is all that it comes from. Empty: everything is wanted.
  std::function<bool(std::string_view)> is_wanted = {};
};
core::Result<std::vector<RuleInstance>> expand(const RuleText& rule,
                                               const ExpansionChoice& choice = {});

}  // namespace soapstone::rules
