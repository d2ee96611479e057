// The demands of a rule on sizes: what follows from what, and whether it holds for given numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The label of a `where` clause.
inline constexpr std::string_view kStatedLabel = "where";
/// Whether it stands in the text of the rule; else it was inferred.
bool is_stated(const ops::SizeConstraint& constraint);
/// A size of the target that the matcher chooses, low ≤ symbol ≤ high.
struct ChosenSize {
  core::Symbol symbol;
  core::Polynomial low, high;
};
/// The conditions that say so, with labels of their own.
std::vector<ops::SizeConstraint> conditions_of(const ChosenSize& chosen);
/// The stated constraints of a guard, in its order.
std::vector<ChosenSize> chosen_sizes(const std::vector<ops::SizeConstraint>& guard);

/// The requirements that do not follow from the assumptions. `sizes` are the symbols that are
/// sizes of inputs, which are not negative.
std::vector<ops::SizeConstraint> not_implied(const std::vector<ops::SizeConstraint>& requirements,
                                             const std::vector<ops::SizeConstraint>& assumptions,
                                             const std::vector<core::Symbol>& sizes);
/// The symbols that stand alone as a size of an input.
std::vector<core::Symbol> size_symbols(const Graph& side);

/// Whether the guard of the rule holds for these numbers, one for each symbol; those of derived
/// sizes are filled in. A number that does not fit into 64 bits holds nothing.
bool guard_holds(const Rule& rule, std::vector<std::int64_t>& sizes);

/// Whether a size of the graph is the number 0. Nothing is promised of a rule there: the matcher
/// does not match empty tensors, and proofs assume that the source has none.
bool has_empty_tensor(const Graph& graph);

/// `2*n - m >= 0`, as in a `where` clause.
std::string to_string(const ops::SizeConstraint& constraint, const core::SymbolTable& symbols);

}  // namespace soapstone::rules
