// Result types of both sides of a rule, on symbols or numbers, and what they require of the sizes.
// It knows the shape rules of ops/ and nothing of text or of matching.
#pragma once

#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

struct TypedSides {
  Graph source, target;
  std::vector<ops::SizeConstraint> assumptions;   ///< They hold wherever the source has types.
  std::vector<ops::SizeConstraint> requirements;  ///< The target and equal result types need them.
  std::vector<ops::DerivedSize> derived;
};

/// The place where typing failed. `node` is none if the sides do not fit each other.
struct TypingFailure {
  bool in_source = true;
  NodeId node;
};

/// Both sides with the values put in and the types of all results. Nodes keep their
/// order; ids too if the sides were built without gaps.
/// Errors: kInvalidInput; `failure` then says where.
Result<TypedSides> type_sides(const Graph& source, const Graph& target, const Bindings& values,
                              TypingFailure* failure = nullptr);

}  // namespace soapstone::rules
