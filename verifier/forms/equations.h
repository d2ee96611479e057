// Guards as equations and bounds: Σ over v of [v = e]·x(v) = x(e), and the numbers that a binder
// goes through.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verifier/forms/summand.h"

namespace soapstone::verifier {

/// Eliminates binders that an equation of the guards determines; their values go to `solved`, for
/// the factors. False: the guards contradict each other.
bool solve_equations(FactSet& guards, std::vector<Symbol>& binders, Substitution& solved);

/// Bounds that guards put on a symbol: low ≤ v ≤ high.
struct SymbolBounds {
  std::vector<Linear> low;
  std::vector<Linear> high;
  FactSet others;      ///< Guards without the symbol.
  bool simple = true;  ///< Every guard with the symbol is a bound with coefficient 1 or −1.
};
SymbolBounds bounds_of(const FactSet& guards, Symbol symbol);

/// Constant bounds of a symbol, both included, if they are few numbers apart.
std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(const FactSet& guards,
                                                                    Symbol symbol);

}  // namespace soapstone::verifier
