// A rule tried with numbers by whoever wants to know no more than whether it is wrong.
#pragma once

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The counterexample that check() finds, if it finds one, in less time: nothing is observed of how
/// the sides round. Errors: kUnsupported if no sizes satisfy the guard.
Result<std::optional<Counterexample>> find_counterexample(const Rule& rule, int size_count,
                                                          std::uint64_t seed);

}  // namespace soapstone::rules
