// From a rule on tensors of certain shapes to those that it is when some of them are broadcast:
// what holds for x + y holds where y is a row, or one number for all.
#pragma once

#include <optional>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::generator {

/// The shapes of a rule's inputs, in their order.
using InputShapes = std::vector<core::Shape>;

struct Broadcasts {
  rules::Rule largest;               ///< The rule with nothing broadcast that need not be.
  std::vector<InputShapes> choices;  ///< Two at least; those of `largest` first.
};

/// Shapes for which the rule has types and the same results. None if nothing is broadcast in the
/// rule itself: families are large, and most laws are needed as they are. Whether it holds for them
/// is not looked at.
std::optional<Broadcasts> broadcasts_of(const rules::Rule& rule);

}  // namespace soapstone::generator
