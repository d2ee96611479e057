// The sizes of one rule: equations are solved, the rest are background facts.
#pragma once

#include <string>
#include <vector>

#include "rules/rule/rule.h"
#include "verifier/integers/linear.h"

namespace soapstone::verifier {

struct SizeSystem {
  /// Symbols that equations express by others; applied to every size and index.
  Substitution solution;
  FactSet background;
  std::vector<Symbol> sizes;  ///< Free symbols that are at least 1.
  /// Not empty: the sizes contradict each other, or are beyond what can be computed with.
  std::string contradiction;

  Linear apply(const core::Polynomial& polynomial) const {
    return Linear(polynomial).substitute(solution);
  }
};

/// Source constraints and the guard are assumed, and all sizes of the source to be at least 1.
/// Precondition: the rule has no parameters left (specialize it).
SizeSystem solve_sizes(const rules::Rule& rule);

}  // namespace soapstone::verifier
