// What a rule demands of sizes: what follows from what, and whether it holds for given numbers.
#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace soapstone::rules {

/// Those requirements that do not follow from the assumptions. `sizes` are the symbols that are
/// sizes of inputs, which are not negative.
std::vector<ops::SizeConstraint> not_implied(const std::vector<ops::SizeConstraint>& requirements,
                                             const std::vector<ops::SizeConstraint>& assumptions,
                                             const std::vector<core::Symbol>& sizes);
/// The symbols that stand alone as a size of an input.
std::vector<core::Symbol> size_symbols(const Graph& side);

/// Whether the guard of the rule holds for these numbers, one for each symbol; those of derived
/// sizes are filled in. A number that does not fit into 64 bits holds nothing.
bool guard_holds(const Rule& rule, std::vector<std::int64_t>& sizes);

/// `2*n - m >= 0`, as in a `where` clause.
std::string to_string(const ops::SizeConstraint& constraint, const core::SymbolTable& symbols);

}  // namespace soapstone::rules
