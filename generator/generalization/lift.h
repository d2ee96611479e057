// From a rule for tensors of one rank to the family of all ranks: what stands before and behind the
// dimensions that operators work along becomes `A..` and `B..`.
#pragma once

#include <string>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::generator {

/// Texts of families with `for A in ranks(…)` that the rule is an instance of, most general first.
/// Whether the other instances hold is not looked at.
std::vector<std::string> lifted_texts(const rules::Rule& rule);
/// Whether windows may be left open in those.
bool lifts_windows(const core::Graph& side);

}  // namespace soapstone::generator
