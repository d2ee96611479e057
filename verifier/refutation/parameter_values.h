// Values of the parameters of a rule (strides, permutations): which ones a verdict is about, and
// how they are shown.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// The values of rules::sample_parameters for the seeds 0, 1, 2, …, without repetitions, until
/// there are `count` or 8 · count seeds were tried. One entry without values for a rule without
/// parameters.
std::vector<rules::Bindings> parameter_grid(const rules::Rule& rule, int count);

/// Parameters by name, each with one value.
using NamedValues = std::vector<std::pair<std::string, std::variant<std::int64_t, double>>>;
/// The values of those parameters. Precondition: each of them has one.
NamedValues named_values(const rules::Rule& rule, std::span<const core::Symbol> parameters,
                         const rules::Bindings& values);

/// `s = 2, epsilon = 0.5`. Precondition: each parameter has a value.
std::string parameter_text(const rules::Rule& rule, const rules::Bindings& values);
/// `s in {1, 2}, (s, epsilon) in {(1, 0.5), (2, 0.25)}`: those with the same names together. Once
/// that gets long, integers are counted: `8 of (s, t)`.
std::string set_text(std::span<const NamedValues> sets);

}  // namespace soapstone::verifier
