// See simplifier.h.
#include "verifier/algebra/simplifier.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/equations.h"

namespace soapstone::verifier {

std::optional<NormalForm> Simplifier::written_out(const Summand& summand, const FactSet& context) {
  for (Symbol binder : summand.binders) {
    const auto range = constant_range(summand.guards, binder);
    if (!range) continue;
    Summand rest = summand;
    std::erase(rest.binders, binder);
    NormalForm result;
    for (std::int64_t value = range->first; value <= range->second; ++value) {
      for (Summand& part : proof_.arena.substitute(rest, {{binder, Linear(value)}})) {
        for (Summand& simple : simplify(std::move(part), context)) {
          result.push_back(std::move(simple));
        }
      }
    }
    return collected(std::move(result));
  }
  return std::nullopt;
}

/// All summands simplified, like ones added up.
NormalForm Simplifier::simplified(NormalForm summands, const FactSet& context) {
  NormalForm result;
  for (Summand& summand : summands) {
    for (Summand& simple : simplify(std::move(summand), context)) {
      result.push_back(std::move(simple));
    }
  }
  return collected(std::move(result));
}

/// The number of integers within the bounds: tightest high − tightest low + 1, if that is known and
/// not negative.
std::optional<Linear> Simplifier::count_of(const SymbolBounds& bounds,
                                           const FactSet& context) const {
  if (!bounds.simple || bounds.low.empty() || bounds.high.empty()) return std::nullopt;
  const FactSet known = unite(context, bounds.others);
  const auto tightest = [&](const std::vector<Linear>& list, int sign) -> const Linear* {
    for (const Linear& candidate : list) {
      const bool best = std::all_of(list.begin(), list.end(), [&](const Linear& other) {
        return candidate == other || proof_.implied(known, sign > 0 ? at_least(candidate, other)
                                                                    : at_least(other, candidate));
      });
      if (best) return &candidate;
    }
    return nullptr;
  };
  const Linear* low = tightest(bounds.low, 1);
  const Linear* high = tightest(bounds.high, -1);
  if (low == nullptr || high == nullptr) return std::nullopt;
  Linear count = *high - *low + 1;
  if (!proof_.implied(known, at_least(count, 0))) return std::nullopt;
  return count;
}

/// Σ over low ≤ v < high of something without v is (high − low) times it.
std::optional<NormalForm> Simplifier::without_free_binder(const Summand& summand,
                                                          const FactSet& context) {
  for (Symbol binder : summand.binders) {
    const bool used =
        std::any_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
          return std::binary_search(factor.atom->free_symbols.begin(),
                                    factor.atom->free_symbols.end(), binder);
        });
    if (used) continue;
    const SymbolBounds bounds = bounds_of(summand.guards, binder);
    const auto count = count_of(bounds, context);
    if (!count) continue;
    Summand rest = summand;
    std::erase(rest.binders, binder);
    rest.guards = bounds.others;
    NormalForm products;
    for (const Summand& part : proof_.arena.value_of(*count)) {
      Summand& product = products.emplace_back(rest);
      product.coefficient = product.coefficient * part.coefficient;
      product.factors.insert(product.factors.end(), part.factors.begin(), part.factors.end());
      product.factors = Arena::product(std::move(product.factors));
    }
    return simplified(std::move(products), context);
  }
  return std::nullopt;
}

/// √x·√x = x and 1/(√x·√x) = 1/x for x that is never negative.
std::optional<NormalForm> Simplifier::without_square_of_root(const Summand& summand,
                                                             const FactSet& context) {
  for (std::size_t k = 0; k < summand.factors.size(); ++k) {
    const Factor& factor = summand.factors[k];
    const bool square =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kSqrt &&
        factor.exponent.is_integer() && factor.exponent.magnitude() >= Fraction(2) &&
        signs_.non_negative(factor.atom->arguments[0]->summands, context);
    if (!square) continue;
    Summand rest = summand;
    const Fraction step = factor.exponent.sign() > 0 ? 2 : -2;
    rest.factors[k].exponent = factor.exponent - step;
    rest.factors = Arena::product(std::move(rest.factors));
    NormalForm inside = proof_.arena.open(factor.atom->arguments[0]);
    if (step.sign() < 0) inside = reciprocal(inside, context);
    return product({std::move(rest)}, inside, context);
  }
  return std::nullopt;
}

/// 1/(1/x) = x: that x is not 0 is noted where the inner one is met.
std::optional<NormalForm> Simplifier::without_inverse_of_inverse(const Summand& summand,
                                                                 const FactSet& context) {
  for (std::size_t k = 0; k < summand.factors.size(); ++k) {
    const Factor& factor = summand.factors[k];
    if (factor.atom->kind != AtomKind::kReciprocal || !factor.exponent.is_integer() ||
        factor.exponent.sign() > 0) {
      continue;
    }
    Summand rest = summand;
    rest.factors[k].exponent = factor.exponent + 1;
    rest.factors = Arena::product(std::move(rest.factors));
    return product({std::move(rest)}, proof_.arena.open(factor.atom->arguments[0]), context);
  }
  return std::nullopt;
}

/// Laws that leave fewer factors come first, as a summand that vanishes or falls apart needs none
/// of the questions that follow: whether its guards are possible is asked once for what is left.
/// Each law holds by itself, so another order gives an equal form, if perhaps one that is longer.
NormalForm Simplifier::simplify(Summand summand, const FactSet& context) {
  proof_.spend();
  if (summand.coefficient.is_zero()) return {};
  unite_equal_reads(summand, context);
  powers_.simplify(summand);
  if (auto product = without_square_of_root(summand, context)) return *std::move(product);
  if (auto product = without_inverse_of_inverse(summand, context)) return *std::move(product);
  FactSet guards;
  for (const Fact& fact : summand.guards) {
    const auto truth = fact.truth();
    if (truth == false) return {};
    if (!truth) guards.push_back(fact);
  }
  summand.guards = std::move(guards);
  Substitution solved;
  if (!solve_equations(summand.guards, summand.binders, solved)) return {};
  if (!solved.empty()) return simplified(proof_.arena.substitute(summand, solved), context);
  if (!summand.guards.empty() && !proof_.possible(unite(context, summand.guards))) return {};
  std::erase_if(summand.guards, [&](const Fact& fact) { return contains(context, fact); });
  if (auto rest = selectors_.without_selector(summand)) {
    return simplify(*std::move(rest), context);
  }
  if (auto counted = without_free_binder(summand, context)) return *std::move(counted);
  if (auto rest = without_interpolation(summand, context)) return *std::move(rest);
  if (expansion_.wanted) {
    if (auto parts = written_out(summand, context)) return *std::move(parts);
  } else {
    expansion_.met =
        expansion_.met ||
        std::any_of(summand.binders.begin(), summand.binders.end(), [&](Symbol binder) {
          return constant_range(summand.guards, binder).has_value();
        });
  }
  return {std::move(summand)};
}

}  // namespace soapstone::verifier
