// A rule made of two graphs.
#pragma once

#include <optional>

#include "rules/rule/rule.h"

namespace soapstone::generator {

/// Rewrites `source` into `target`, which have the same inputs. None where a match would not say
/// what some input of the target is, or where a result of the source is no node's.
std::optional<rules::Rule> rule_between(const core::Graph& source, const core::Graph& target);

}  // namespace soapstone::generator
