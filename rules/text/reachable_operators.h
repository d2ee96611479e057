// Which rules can ever match what a model becomes, by their operators alone. Works on the words of
// rules, so that those of no use need not be written out.
#pragma once

#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The words of a rule's text that call something. They are parts of the text, or of a rule that
/// was read, which must outlive them.
struct CalledWords {
  std::vector<std::string_view> head;    ///< All words before `source`.
  std::vector<std::string_view> source;  ///< Called in any case: not as in `s? = mul(b?, c)`.
  std::vector<std::string_view> target;
};
CalledWords called_words(std::string_view rule_text);
CalledWords called_words(const Rule& rule);

/// Whether graphs with these operators may hold all operators that the source surely calls. Loops
/// may be written out or not: what a variable of theirs calls is one of the operators that they
/// mention.
bool may_match(const CalledWords& rule, const OperatorNames& operators);

/// These operators and all that rules make of them, of those that may match: applied to a graph
/// with these operators the rules lead to no others.
OperatorNames reachable_operators(OperatorNames operators, std::vector<CalledWords> rules);

}  // namespace soapstone::rules
