// See unwritten_guard.h.
#include "verifier/proof/unwritten_guard.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "rules/rule/constraints.h"
#include "rules/sampling/sample_sizes.h"
#include "verifier/questions/size_system.h"

namespace soapstone::verifier {
namespace {

using ops::SizeConstraint;

/// The rule under the conditions alone that stand in its text.
rules::Rule as_written(const rules::Rule& rule) {
  rules::Rule written = rule;
  std::erase_if(written.guard, [](const SizeConstraint& c) { return !rules::is_stated(c); });
  return written;
}

/// Equations that follow from the sizes of one rule.
class Consequences {
 public:
  Consequences(const rules::Rule& rule, Solver& solver)
      : sizes_(solve_sizes(rule)),
        oracle_(sizes_.background, sizes_.sizes, solver, witness_, budget_) {}

  bool force(const SizeConstraint& equation) {
    return sizes_.contradiction.empty() &&
           oracle_.implied({}, equal(sizes_.apply(equation.expression), 0));
  }

 private:
  SizeSystem sizes_;
  Witness witness_;
  Budget budget_{0, 0};  ///< Of no use: nothing here is a step.
  Oracle oracle_;
};

}  // namespace

std::vector<SizeConstraint> unwritten_equations(const rules::Rule& rule, Solver& solver) {
  if (std::ranges::all_of(rule.guard, rules::is_stated)) return {};
  std::vector<core::Polynomial> candidates;
  const std::vector<core::Symbol> sizes = rules::size_symbols(rule.source);
  for (const core::Symbol s : sizes) candidates.push_back(core::Polynomial(s) - 1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t j = i + 1; j < sizes.size(); ++j)
      candidates.push_back(core::Polynomial(sizes[i]) - core::Polynomial(sizes[j]));
  Consequences guarded(rule, solver);
  rules::Rule known = as_written(rule);
  std::optional<Consequences> written(std::in_place, known, solver);
  std::vector<SizeConstraint> found;
  for (const core::Polynomial& zero : candidates) {
    const SizeConstraint equation{SizeConstraint::Kind::kZero, zero,
                                  std::string(rules::kStatedLabel)};
    if (!guarded.force(equation) || written->force(equation)) continue;
    found.push_back(equation);
    known.guard.push_back(equation);
    written.emplace(known, solver);
  }
  return found;
}

std::vector<std::pair<std::string, std::int64_t>> sizes_beyond_guard(const rules::Rule& rule,
                                                                     std::uint64_t seed) {
  constexpr int kAttempts = 200;
  const rules::Rule written = as_written(rule);
  const rules::SizeSampler sampler(written);
  rules::Random random(seed);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const rules::Bindings values = sampler.draw(random, 2 + attempt % 3);
    if (!sampler.admits(values)) continue;
    std::vector<std::int64_t> numbers(rule.source.symbols().size());
    for (std::size_t s = 0; s < values.size(); ++s) numbers[s] = values[s].value_or(0);
    if (rules::guard_holds(rule, numbers)) continue;
    std::vector<std::pair<std::string, std::int64_t>> sizes;
    for (std::uint32_t s = 0; s < values.size(); ++s)
      if (values[s]) sizes.emplace_back(rule.source.symbols().name(core::Symbol{s}), *values[s]);
    return sizes;
  }
  return {};
}

}  // namespace soapstone::verifier
