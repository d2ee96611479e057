// Which operator a rule moves past others, and in which direction. The search carries such an
// operator on in one move, as far as rules lead it (docs/adr/0031).
#pragma once

#include <optional>

#include "rules/rule/rule.h"

namespace soapstone::search {

struct Carried {
  const core::OpSchema* op = nullptr;
  bool towards_inputs = false;  ///< False: towards the results.
  bool unites = false;          ///< The rule makes one of two equal ones.
};

/// None: the rule moves nothing. Operators that move are those that compute no new numbers (cuts,
/// joins, changes of shape or order, resizes) and reductions. A rule in which one comes to nothing
/// at the end of its way counts as well.
std::optional<Carried> carried_by(const rules::Rule& rule);

}  // namespace soapstone::search
