// The `for` clauses of a rule: which words stand for which values.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace soapstone::rules {

/// Instances of one rule, and values of one of its loops; more is a slip of the pen.
inline constexpr std::size_t kMaxInstances = 5000;

struct Loop {
  std::vector<std::string> variables;
  bool over_ranks = false, over_functions = false;
  std::vector<std::vector<std::string>> values;  ///< Texts, one for each variable.
  std::size_t begin = 0, end = 0;                ///< The clause's place in the text.
};

/// The first loop of a rule, right behind its name. `numbers`: those of `siblings(2..64)`; null:
/// the usual ones. Errors: kInvalidInput with line and column.
core::Result<std::optional<Loop>> first_loop(const std::string& rule_text,
                                             const std::set<int>* numbers);

}  // namespace soapstone::rules
