// Sums, products, reciprocals, and case distinctions over guards.
#include "verifier/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxTerms = 3000;

NormalForm bounded(NormalForm form) {
  if (form.size() > kMaxTerms) throw OutOfBudget{"too many terms"};
  return form;
}

bool in(const std::vector<Symbol>& symbols, Symbol symbol) {
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

/// e ≥ 0 and −e ≥ 0 are e = 0.
void pair_up_inequalities(FactSet& guards) {
  for (std::size_t k = 0; k < guards.size(); ++k) {
    if (guards[k].kind != Fact::Kind::kNonNegative) continue;
    const Fact opposite = at_least(-guards[k].expression, 0);
    if (!contains(guards, opposite)) continue;
    const Fact equation = equal(guards[k].expression, 0);
    std::erase(guards, opposite);
    std::erase_if(guards,
                  [&](const Fact& fact) { return at_least(-fact.expression, 0) == opposite; });
    insert(guards, equation);
    k = static_cast<std::size_t>(-1);
  }
}

/// The value of the symbol that the equation gives it, if its coefficient is 1 or −1.
std::optional<Linear> solved_for(const Fact& equation, Symbol symbol) {
  const std::int64_t coefficient = equation.expression.coefficient(symbol);
  if ((coefficient != 1 && coefficient != -1) || !equation.expression.is_linear_in(symbol)) {
    return std::nullopt;
  }
  const Linear rest = equation.expression - Linear(symbol).scaled(coefficient);
  return rest.scaled(-coefficient);
}

/// Bounds that guards put on a symbol: low ≤ v ≤ high.
struct Bounds {
  std::vector<Linear> low;
  std::vector<Linear> high;
  FactSet others;      ///< Guards without the symbol.
  bool simple = true;  ///< Every guard with the symbol is a bound with coefficient 1 or −1.
};

Bounds bounds_of(const FactSet& guards, Symbol symbol) {
  Bounds bounds;
  for (const Fact& fact : guards) {
    if (!fact.expression.mentions(symbol)) {
      bounds.others.push_back(fact);
      continue;
    }
    const std::int64_t coefficient = fact.expression.coefficient(symbol);
    if (fact.kind == Fact::Kind::kZero || !fact.expression.is_linear_in(symbol) ||
        (coefficient != 1 && coefficient != -1)) {
      bounds.simple = false;
      continue;
    }
    const Linear rest = fact.expression - Linear(symbol).scaled(coefficient);
    (coefficient == 1 ? bounds.low : bounds.high).push_back(coefficient == 1 ? -rest : rest);
  }
  return bounds;
}

}  // namespace

/// Eliminates binders that an equation determines. False: the guards contradict each other.
bool Normalizer::solve_equations(Term& term, Substitution& solved) {
  for (bool again = true; again;) {
    again = false;
    pair_up_inequalities(term.guards);
    for (const Fact& fact : term.guards) {
      if (fact.kind != Fact::Kind::kZero) continue;
      for (Symbol binder : term.binders) {
        const auto value = solved_for(fact, binder);
        if (!value) continue;
        const Substitution step{{binder, *value}};
        FactSet guards;
        for (const Fact& other : term.guards) {
          if (other == fact) continue;
          Fact replaced = other.substitute(step);
          const auto truth = replaced.truth();
          if (truth == false) return false;
          if (!truth) insert(guards, std::move(replaced));
        }
        for (auto& [symbol, old] : solved) old = old.substitute(step);
        solved.emplace_back(binder, *value);
        std::erase(term.binders, binder);
        term.guards = std::move(guards);
        again = true;
        break;
      }
      if (again) break;
    }
  }
  return true;
}

/// Σ over low ≤ v < high of something without v is (high − low) times it.
NormalForm Normalizer::count_free_binder(const Term& term, const FactSet& context, bool& counted) {
  for (Symbol binder : term.binders) {
    const bool used =
        std::any_of(term.factors.begin(), term.factors.end(), [&](const Factor& factor) {
          return std::binary_search(factor.atom->free_symbols.begin(),
                                    factor.atom->free_symbols.end(), binder);
        });
    if (used) continue;
    const Bounds bounds = bounds_of(term.guards, binder);
    if (!bounds.simple || bounds.low.empty() || bounds.high.empty()) continue;
    const FactSet known = unite(context, bounds.others);
    const auto tightest = [&](const std::vector<Linear>& list, int sign) -> const Linear* {
      for (const Linear& candidate : list) {
        const bool best = std::all_of(list.begin(), list.end(), [&](const Linear& other) {
          return candidate == other ||
                 oracle_.implied(known, sign > 0 ? at_least(candidate, other)
                                                 : at_least(other, candidate));
        });
        if (best) return &candidate;
      }
      return nullptr;
    };
    const Linear* low = tightest(bounds.low, 1);
    const Linear* high = tightest(bounds.high, -1);
    if (low == nullptr || high == nullptr) continue;
    const Linear count = *high - *low + 1;
    if (!oracle_.implied(known, at_least(count, 0))) continue;
    counted = true;
    Term rest = term;
    std::erase(rest.binders, binder);
    rest.guards = bounds.others;
    NormalForm result;
    for (const Term& part : arena_.value_of(count)) {
      Term product = rest;
      product.coefficient = product.coefficient * part.coefficient;
      product.factors.insert(product.factors.end(), part.factors.begin(), part.factors.end());
      product.factors = Arena::product(std::move(product.factors));
      for (Term& simple : simplify(std::move(product), context)) {
        result.push_back(std::move(simple));
      }
    }
    return result;
  }
  return {};
}

NormalForm Normalizer::simplify(Term term, const FactSet& context) {
  budget_.spend();
  if (term.coefficient.is_zero()) return {};
  FactSet guards;
  for (const Fact& fact : term.guards) {
    const auto truth = fact.truth();
    if (truth == false) return {};
    if (!truth) guards.push_back(fact);
  }
  term.guards = std::move(guards);
  Substitution solved;
  if (!solve_equations(term, solved)) return {};
  if (!solved.empty()) {
    NormalForm result;
    for (Term& part : arena_.substitute(term, solved)) {
      for (Term& simple : simplify(std::move(part), context)) result.push_back(std::move(simple));
    }
    return collected(std::move(result));
  }
  if (!term.guards.empty() && !oracle_.possible(unite(context, term.guards))) return {};
  std::erase_if(term.guards, [&](const Fact& fact) { return contains(context, fact); });
  bool counted = false;
  NormalForm result = count_free_binder(term, context, counted);
  if (counted) return collected(std::move(result));
  return {std::move(term)};
}

NormalForm Normalizer::product(const NormalForm& a, const NormalForm& b, const FactSet& context) {
  NormalForm result;
  for (const Term& x : a) {
    for (const Term& y : b) {
      const bool clash = std::any_of(x.binders.begin(), x.binders.end(),
                                     [&](Symbol symbol) { return in(y.binders, symbol); });
      const Term& other = clash ? arena_.refreshed(y) : y;
      Term term;
      term.coefficient = x.coefficient * other.coefficient;
      term.guards = unite(x.guards, other.guards);
      term.binders = x.binders;
      term.binders.insert(term.binders.end(), other.binders.begin(), other.binders.end());
      term.factors = x.factors;
      term.factors.insert(term.factors.end(), other.factors.begin(), other.factors.end());
      const std::size_t before = term.factors.size();
      term.factors = Arena::product(std::move(term.factors));
      note_cancellation(x, other, before, term);
      for (Term& part : simplify(std::move(term), context)) result.push_back(std::move(part));
    }
    if (result.size() > kMaxTerms) result = bounded(collected(std::move(result)));
  }
  return bounded(collected(std::move(result)));
}

/// x · x⁻¹ = 1 needs x ≠ 0, unless x is an integer size or an exponential.
void Normalizer::note_cancellation(const Term& a, const Term& b, std::size_t before,
                                   const Term& product) {
  if (product.factors.size() == before) return;
  for (const Factor& x : a.factors) {
    const bool never_zero =
        (x.atom->kind == AtomKind::kIndex && !Arena::is_variable(x.atom->free_symbols[0])) ||
        (x.atom->kind == AtomKind::kApply &&
         (x.atom->function == ops::Function::kExp || x.atom->function == ops::Function::kSigmoid));
    if (never_zero) continue;
    for (const Factor& y : b.factors) {
      if (x.atom == y.atom && x.exponent.sign() != y.exponent.sign()) assumed_nonzero_ = true;
    }
  }
}

const Fact* Normalizer::outer_guard(const NormalForm& form, const FactSet& context) {
  for (const Term& term : form) {
    for (const Fact& fact : term.guards) {
      if (!fact.mentions_any(term.binders) && !oracle_.implied(context, fact)) return &fact;
    }
  }
  return nullptr;
}

NormalForm Normalizer::under(const NormalForm& form, const FactSet& context) {
  NormalForm result;
  for (const Term& term : form) {
    Term kept = term;
    std::erase_if(kept.guards, [&](const Fact& fact) {
      return !fact.mentions_any(term.binders) && oracle_.implied(context, fact);
    });
    if (oracle_.possible(unite(context, kept.guards))) result.push_back(std::move(kept));
  }
  return result;
}

/// Functions of a form see whole cases: where an outer guard holds, and where it does not.
NormalForm Normalizer::by_cases(const std::vector<NormalForm>& forms, const FactSet& context,
                                const Build& build) {
  budget_.spend();
  for (const NormalForm& form : forms) {
    const Fact* found = outer_guard(form, context);
    if (found == nullptr) continue;
    std::vector<Fact> cases{*found};
    for (Fact& opposite : found->negation()) cases.push_back(std::move(opposite));
    NormalForm result;
    for (const Fact& fact : cases) {
      FactSet inside = context;
      insert(inside, fact);
      if (!oracle_.possible(inside)) continue;
      std::vector<NormalForm> there;
      for (const NormalForm& each : forms) there.push_back(under(each, inside));
      for (Term& term : by_cases(there, inside, build)) {
        insert(term.guards, fact);
        result.push_back(std::move(term));
      }
    }
    return result;
  }
  return build(forms, context);
}

NormalForm Normalizer::reciprocal(const NormalForm& form, const FactSet& context) {
  return by_cases({form}, context, [this](const auto& forms, const FactSet& inside) {
    return reciprocal_of_whole(forms[0], inside);
  });
}

NormalForm Normalizer::atom_term(const Atom* atom) const {
  Term term;
  term.factors = {{atom, 1}};
  return {std::move(term)};
}

/// 1 / (c·a·(rest)) = c⁻¹·a⁻¹·(1 / rest) for what all terms have in common.
NormalForm Normalizer::reciprocal_of_whole(NormalForm form, const FactSet& context) {
  form = collected(std::move(form));
  if (form.empty()) throw OutOfBudget{"division by zero"};
  if (form.size() == 1 && form[0].binders.empty() && form[0].guards.empty()) {
    Term term;
    term.coefficient = form[0].coefficient.inverse();
    for (const Factor& factor : form[0].factors) {
      term.factors.push_back({factor.atom, -factor.exponent});
    }
    return {std::move(term)};
  }
  std::vector<Factor> common;
  bool first = true;
  for (const Term& term : form) {
    std::vector<Factor> own;
    for (const Factor& factor : term.factors) {
      const bool bound =
          std::any_of(factor.atom->free_symbols.begin(), factor.atom->free_symbols.end(),
                      [&](Symbol symbol) { return in(term.binders, symbol); });
      if (!bound) own.push_back(factor);
    }
    if (std::exchange(first, false)) {
      common = std::move(own);
      continue;
    }
    std::erase_if(common, [&](Factor& factor) {
      const auto same = std::find_if(own.begin(), own.end(), [&](const Factor& other) {
        return other.atom == factor.atom && other.exponent.sign() == factor.exponent.sign();
      });
      if (same == own.end()) return true;
      if (same->exponent.magnitude() < factor.exponent.magnitude()) {
        factor.exponent = same->exponent;
      }
      return false;
    });
  }
  Term outside;
  for (const Factor& factor : common) outside.factors.push_back({factor.atom, -factor.exponent});
  for (Term& term : form) {
    term.factors.insert(term.factors.end(), outside.factors.begin(), outside.factors.end());
    term.factors = Arena::product(std::move(term.factors));
  }
  const Fraction leading = leading_coefficient(form);
  outside.coefficient = leading.inverse();
  outside.factors.push_back(
      {arena_.reciprocal(arena_.form(scaled(std::move(form), leading.inverse()))), 1});
  outside.factors = Arena::product(std::move(outside.factors));
  return simplify(std::move(outside), context);
}

/// Of the first term in an order that does not look at coefficients.
Fraction Normalizer::leading_coefficient(const NormalForm& form) {
  return form.empty() ? Fraction(1) : arena_.form(form)->terms[0].coefficient;
}

/// The single factor that the whole form is, up to a positive coefficient.
const Factor* Normalizer::only_factor(const NormalForm& form, AtomKind kind) const {
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty() ||
      form[0].factors.size() != 1 || form[0].factors[0].exponent != Fraction(1) ||
      form[0].factors[0].atom->kind != kind || form[0].coefficient.sign() <= 0) {
    return nullptr;
  }
  return &form[0].factors[0];
}

bool Normalizer::non_negative(const Factor& factor, const FactSet& context) {
  if (factor.exponent.is_even()) return true;
  const Atom& atom = *factor.atom;
  switch (atom.kind) {
  case AtomKind::kRead:
    return false;
  case AtomKind::kIndex:
    return oracle_.implied(context, at_least(atom.index[0], 0));
  case AtomKind::kApply:
    return ops::properties(atom.function).non_negative;
  case AtomKind::kReciprocal:
    return non_negative(atom.arguments[0]->terms, context);
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), [&](const Piece& piece) {
      return non_negative(piece.body->terms, unite(context, piece.guards));
    });
  }
  return false;
}

bool Normalizer::non_negative(const NormalForm& form, const FactSet& context) {
  return std::all_of(form.begin(), form.end(), [&](const Term& term) {
    const FactSet inside = unite(context, term.guards);
    return term.coefficient.sign() > 0 &&
           std::all_of(term.factors.begin(), term.factors.end(),
                       [&](const Factor& factor) { return non_negative(factor, inside); });
  });
}

}  // namespace soapstone::verifier
