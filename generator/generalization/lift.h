// From a rule for tensors of one rank to the family of all ranks: what stands before and behind the
// dimensions that operators work along becomes `A..` and `B..`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "generator/generalization/broadcast.h"
#include "rules/rule/rule.h"

namespace soapstone::generator {

/// Texts of families with `for A in ranks(…)` that the rule is an instance of, most general first.
/// Whether the other instances hold is not looked at. `choices`: the shapes that the inputs may
/// have, those of the rule first; a family has an instance for each. None: those of the rule. With
/// choices there is always a text.
std::vector<std::string> lifted_texts(const rules::Rule& rule,
                                      std::span<const InputShapes> choices = {});
/// Whether windows may be left open in those.
bool lifts_windows(const core::Graph& side);

}  // namespace soapstone::generator
