// See sample_sizes.h.
#include "rules/sampling/sample_sizes.h"

#include <algorithm>

#include "rules/rule/constraints.h"
#include "rules/rule/substitute.h"
#include "rules/rule/typing.h"

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;
using ops::SizeConstraint;

SizeSampler::SizeSampler(const Rule& rule) : rule_(rule), sampler_(rule) {
  conditions_.guard = rule.guard;
  conditions_.derived = rule.derived;
  if (!rule.parameters.empty()) return;
  const auto typed = type_sides(rule.source, rule.target, {});
  if (!typed) return;
  assumptions_ = typed->assumptions;
  if (typed->source.symbols() == rule.source.symbols())
    conditions_.guard.insert(conditions_.guard.end(), assumptions_.begin(), assumptions_.end());
}

std::vector<SizeConstraint> SizeSampler::equations(const Bindings& values) const {
  if (rule_.parameters.empty()) return assumptions_;
  Bindings parameters(values.size());
  for (Symbol s : rule_.parameters) parameters[s.id] = values[s.id];
  const auto typed = type_sides(rule_.source, rule_.target, parameters);
  return typed ? typed->assumptions : std::vector<SizeConstraint>();
}

Bindings SizeSampler::draw(Random& random, std::int64_t largest) const {
  Bindings values = sampler_.all(random, largest);
  for (const auto* constraints : {&rule_.guard, &assumptions_})
    for (const SizeConstraint& c : *constraints)
      if (c.kind == SizeConstraint::Kind::kZero) solve(c.expression, values, random, nullptr);
  if (rule_.parameters.empty()) return values;
  for (const SizeConstraint& c : equations(values))
    if (c.kind == SizeConstraint::Kind::kZero) solve(c.expression, values, random, nullptr);
  return values;
}

void SizeSampler::repair(Bindings& values, Symbol fixed, Random& random) const {
  const auto assumptions = equations(values);
  for (const auto* constraints : {&rule_.guard, &assumptions})
    for (const SizeConstraint& c : *constraints)
      if (c.kind == SizeConstraint::Kind::kZero) solve(c.expression, values, random, &fixed);
}

bool SizeSampler::admits(const Bindings& values) const {
  std::vector<std::int64_t> sizes(rule_.source.symbols().size());
  for (std::size_t s = 0; s < values.size(); ++s) sizes[s] = values[s].value_or(0);
  return guard_holds(conditions_, sizes);
}

/// Sets one symbol such that p = 0, if a positive number does that.
void SizeSampler::solve(const Polynomial& p, Bindings& values, Random& random,
                        const Symbol* fixed) const {
  if (substitute(p, values) == Polynomial(0)) return;
  std::vector<Symbol> symbols = p.symbols();
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const auto j = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)));
    std::swap(symbols[i], symbols[j]);
    const Symbol s = symbols[i];
    const bool parameter = std::ranges::find(rule_.parameters, s) != rule_.parameters.end();
    if (parameter || (fixed && s == *fixed) || s.id >= values.size() || !values[s.id]) continue;
    // p is affine in s if its values at 0, 1 and 2 lie on a line.
    const auto at = [&](std::int64_t number) {
      values[s.id] = number;
      return substitute(p, values);
    };
    const std::int64_t before = *values[s.id];
    const Polynomial rest = at(0), factor = at(1) - rest, bend = at(2) - at(1) - factor;
    values[s.id] = before;
    if (!rest.is_constant() || !factor.is_constant() || bend != Polynomial(0)) continue;
    if (factor == Polynomial(0) || rest.constant() % factor.constant() != 0) continue;
    const std::int64_t solution = -rest.constant() / factor.constant();
    if (solution < 1) continue;
    values[s.id] = solution;
    return;
  }
}

}  // namespace soapstone::rules
