// Linear equations between a few unknown integers, such as the padding of a part.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/graph/polynomial.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops::partition {

/// Symbols of unknowns are far from those of sizes and index variables.
constexpr Symbol unknown(std::uint32_t number) { return {0xE0000000U + number}; }
constexpr bool is_unknown(Symbol symbol) { return symbol.id >= 0xE0000000U; }

bool has_unknown(const Polynomial& p);

using Solution = std::map<Symbol, std::int64_t>;

/// Solves expression = 0 for each expression as far as one unknown at a time does, for unknowns
/// that are not known. Equations that contradict are left to whoever checks the solution.
void solve(std::vector<Polynomial> equations, Solution& known);

Polynomial with_solution(const Polynomial& p, const Solution& solution);

}  // namespace soapstone::ops::partition
