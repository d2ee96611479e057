// Symmetries of a rule: ways to exchange its nodes and inputs that leave it the same rule. One of
// the matches that they turn into each other is enough.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/matching/pattern.h"

namespace soapstone::rules {

/// Node or input i takes the place of node or input `nodes[i]`, `inputs[i]`.
struct Symmetry {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> inputs;
};

/// All but the identity. The target counts as the same if it differs only in the order of operands
/// of commutative operators and concatenations and of the parts of splits.
std::vector<Symmetry> find_symmetries(const Rule& rule, const Pattern& pattern);

}  // namespace soapstone::rules
