// See saving_guard.h.
#include "verifier/refutation/saving_guard.h"

#include "rules/rule/constraints.h"
#include "rules/sampling/sample_sizes.h"
#include "verifier/refutation/refute.h"

namespace soapstone::verifier {
namespace {

using core::Polynomial;
using core::Symbol;
using ops::SizeConstraint;

constexpr int kSizes = 20;
/// Proofs that fail cost more than those that succeed.
constexpr int kMostProofs = 12;

std::vector<SizeConstraint> equations_between(const std::vector<Symbol>& sizes) {
  std::vector<SizeConstraint> equations;
  const auto add = [&](const Polynomial& zero) {
    equations.push_back({SizeConstraint::Kind::kZero, zero, "where"});
  };
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t j = i + 1; j < sizes.size(); ++j)
      add(Polynomial(sizes[i]) - Polynomial(sizes[j]));
  for (const Symbol s : sizes) add(Polynomial(s) - 1);
  return equations;
}

bool has_sizes(const rules::Rule& rule) {
  constexpr int kAttempts = 50;
  const rules::SizeSampler sampler(rule);
  rules::Random random(0);
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (sampler.admits(sampler.draw(random, 2 + attempt % 5))) return true;
  return false;
}

}  // namespace

rules::Rule with_guard(const rules::Rule& rule, const std::vector<SizeConstraint>& guard) {
  rules::Rule guarded = rule;
  guarded.guard.insert(guarded.guard.end(), guard.begin(), guard.end());
  return guarded;
}

std::vector<SizeConstraint>
find_saving_guard(const rules::Rule& rule, const std::function<bool(const rules::Rule&)>& proves) {
  const auto equations = equations_between(rules::size_symbols(rule.source));
  int proofs = 0;
  const auto saves = [&](const std::vector<SizeConstraint>& guard) {
    const rules::Rule guarded = with_guard(rule, guard);
    if (is_refuted(guarded, kSizes, 1) || !has_sizes(guarded)) return false;
    return ++proofs <= kMostProofs && proves(guarded);
  };
  for (const SizeConstraint& equation : equations)
    if (saves({equation})) return {equation};
  for (std::size_t i = 0; i < equations.size() && proofs < kMostProofs; ++i)
    for (std::size_t j = i + 1; j < equations.size() && proofs < kMostProofs; ++j)
      if (saves({equations[i], equations[j]})) return {equations[i], equations[j]};
  return {};
}

}  // namespace soapstone::verifier
