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
    std::erase_if(guards, [&](const Fact& fact) {
      return fact.kind == Fact::Kind::kNonNegative && at_least(-fact.expression, 0) == opposite;
    });
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

bool is_negative_number(const NormalForm& form) {
  return form.size() == 1 && form[0].factors.empty() && form[0].binders.empty() &&
         form[0].coefficient.sign() < 0;
}

bool reads_input(const Atom& atom);

bool reads_input(const NormalForm& form) {
  return std::any_of(form.begin(), form.end(), [](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.end(),
                       [](const Factor& factor) { return reads_input(*factor.atom); });
  });
}

bool reads_input(const Atom& atom) {
  return atom.kind == AtomKind::kRead ||
         std::any_of(atom.arguments.begin(), atom.arguments.end(),
                     [](const Form* argument) { return reads_input(argument->terms); }) ||
         std::any_of(atom.pieces.begin(), atom.pieces.end(),
                     [](const Piece& piece) { return reads_input(piece.body->terms); });
}

constexpr std::int64_t kMaxUnrolled = 9;
constexpr int kMaxCaseDepth = 40;

/// Counts how deep a recursion is.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

/// Constant bounds of a symbol, both included, if they are few numbers apart.
std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(const FactSet& guards,
                                                                    Symbol symbol) {
  std::optional<std::int64_t> low;
  std::optional<std::int64_t> high;
  for (const Fact& fact : guards) {
    const std::int64_t coefficient = fact.expression.coefficient(symbol);
    if (fact.kind != Fact::Kind::kNonNegative || (coefficient != 1 && coefficient != -1)) continue;
    const Linear rest = fact.expression - Linear(symbol).scaled(coefficient);
    if (!rest.is_constant()) continue;
    const std::int64_t bound = -coefficient * rest.constant();
    if (coefficient == 1) low = low ? std::max(*low, bound) : bound;
    if (coefficient == -1) high = high ? std::min(*high, bound) : bound;
  }
  if (!low || !high || *high - *low >= kMaxUnrolled) return std::nullopt;
  return std::pair(*low, *high);
}

}  // namespace

std::optional<NormalForm> Normalizer::unrolled(const Term& term, const FactSet& context) {
  for (Symbol binder : term.binders) {
    const auto range = constant_range(term.guards, binder);
    if (!range) continue;
    Term rest = term;
    std::erase(rest.binders, binder);
    NormalForm result;
    for (std::int64_t value = range->first; value <= range->second; ++value) {
      for (Term& part : arena_.substitute(rest, {{binder, Linear(value)}})) {
        for (Term& simple : simplify(std::move(part), context)) {
          result.push_back(std::move(simple));
        }
      }
    }
    return collected(std::move(result));
  }
  return std::nullopt;
}

/// The pieces for each number that a binder with few of them stands for.
std::optional<std::vector<Normalizer::OpenPiece>> Normalizer::unrolled(const OpenPiece& piece) {
  for (Symbol binder : piece.binders) {
    const auto range = constant_range(piece.guards, binder);
    if (!range) continue;
    met_expandable_ = true;
    if (!is_expanding_) return std::nullopt;
    std::vector<OpenPiece> result;
    for (std::int64_t value = range->first; value <= range->second; ++value) {
      const Substitution here{{binder, Linear(value)}};
      OpenPiece part;
      part.binders = piece.binders;
      std::erase(part.binders, binder);
      bool possible = true;
      for (const Fact& fact : piece.guards) {
        Fact replaced = fact.substitute(here);
        const auto truth = replaced.truth();
        possible = possible && truth != false;
        if (!truth) insert(part.guards, std::move(replaced));
      }
      for (const Term& term : piece.body) {
        for (Term& each : arena_.substitute(term, here)) part.body.push_back(std::move(each));
      }
      if (possible) result.push_back(std::move(part));
    }
    return result;
  }
  return std::nullopt;
}

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

/// |x|² = x², and c² = c for a truth value c.
void Normalizer::simplify_powers(Term& term) {
  bool changed = false;
  for (Factor& factor : term.factors) {
    const Atom& atom = *factor.atom;
    if (is_boolean(atom) && factor.exponent.is_integer() && factor.exponent > Fraction(1)) {
      factor.exponent = 1;
    }
    if (atom.kind != AtomKind::kApply || atom.function != ops::Function::kAbs ||
        !factor.exponent.is_even()) {
      continue;
    }
    const NormalForm& inside = atom.arguments[0]->terms;
    const bool alone = inside.size() == 1 && inside[0].binders.empty() &&
                       inside[0].guards.empty() && inside[0].coefficient == Fraction(1) &&
                       inside[0].factors.size() == 1;
    if (!alone) continue;
    factor = {inside[0].factors[0].atom, inside[0].factors[0].exponent * factor.exponent};
    changed = true;
  }
  if (changed) term.factors = Arena::product(std::move(term.factors));
}

/// √x·√x = x and 1/(√x·√x) = 1/x for x that is never negative.
std::optional<NormalForm> Normalizer::without_square_of_root(const Term& term,
                                                             const FactSet& context) {
  for (std::size_t k = 0; k < term.factors.size(); ++k) {
    const Factor& factor = term.factors[k];
    const bool square =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kSqrt &&
        factor.exponent.is_integer() && factor.exponent.magnitude() >= Fraction(2) &&
        non_negative(factor.atom->arguments[0]->terms, context);
    if (!square) continue;
    Term rest = term;
    const Fraction step = factor.exponent.sign() > 0 ? 2 : -2;
    rest.factors[k].exponent = factor.exponent - step;
    rest.factors = Arena::product(std::move(rest.factors));
    NormalForm inside = arena_.open(factor.atom->arguments[0]);
    if (step.sign() < 0) inside = reciprocal(inside, context);
    return product({std::move(rest)}, inside, context);
  }
  return std::nullopt;
}

NormalForm Normalizer::simplify(Term term, const FactSet& context) {
  budget_.spend();
  if (term.coefficient.is_zero()) return {};
  simplify_powers(term);
  if (auto product = without_square_of_root(term, context)) return *std::move(product);
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
  if (is_expanding_) {
    if (auto parts = unrolled(term, context)) return *std::move(parts);
  } else {
    met_expandable_ = met_expandable_ ||
                      std::any_of(term.binders.begin(), term.binders.end(), [&](Symbol binder) {
                        return constant_range(term.guards, binder).has_value();
                      });
  }
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
      term.factors = Arena::product(std::move(term.factors));
      for (Term& part : simplify(std::move(term), context)) result.push_back(std::move(part));
    }
    if (result.size() > kMaxTerms) result = bounded(collected(std::move(result)));
  }
  return bounded(collected(std::move(result)));
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
  const Nesting nesting(case_depth_);
  for (const NormalForm& form : forms) {
    const Fact* found = outer_guard(form, context);
    if (found == nullptr) continue;
    if (case_depth_ > kMaxCaseDepth) throw OutOfBudget{"too many cases within each other"};
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

/// form = common · rest, where every atom that has one value throughout occurs in `rest` with its
/// least power 0. `wanted` says which atoms may be taken out. Unbound ones only.
std::vector<Factor> Normalizer::take_common(NormalForm& form,
                                            const std::function<bool(const Factor&)>& wanted) {
  std::vector<Factor> common;
  const auto power_in = [](const Term& term, const Atom* atom) {
    for (const Factor& factor : term.factors) {
      if (factor.atom == atom) return factor.exponent;
    }
    return Fraction(0);
  };
  for (const Term& term : form) {
    for (const Factor& factor : term.factors) {
      const Atom* atom = factor.atom;
      const bool known = std::any_of(common.begin(), common.end(),
                                     [&](const Factor& other) { return other.atom == atom; });
      const bool bound = std::any_of(form.begin(), form.end(), [&](const Term& each) {
        return std::any_of(atom->free_symbols.begin(), atom->free_symbols.end(),
                           [&](Symbol symbol) { return in(each.binders, symbol); });
      });
      if (known || bound) continue;
      Fraction least = factor.exponent;
      for (const Term& other : form) least = std::min(least, power_in(other, atom));
      if (!least.is_zero() && wanted({atom, least})) common.push_back({atom, least});
    }
  }
  for (Term& term : form) {
    for (const Factor& factor : common) term.factors.push_back({factor.atom, -factor.exponent});
    term.factors = Arena::product(std::move(term.factors));
  }
  return common;
}

/// 1 / (c·a·(rest)) = c⁻¹·a⁻¹·(1 / rest) for what all terms have in common.
NormalForm Normalizer::reciprocal_of_whole(NormalForm form, const FactSet& context) {
  form = collected(std::move(form));
  if (form.empty()) throw OutOfBudget{"division by zero"};
  Term outside;
  for (const Factor& factor : take_common(form, [](const Factor&) { return true; })) {
    outside.factors.push_back({factor.atom, -factor.exponent});
  }
  const Fraction leading = leading_coefficient(form);
  outside.coefficient = leading.inverse();
  const bool is_one = form.size() == 1 && form[0].factors.empty() && form[0].binders.empty() &&
                      form[0].guards.empty();
  if (!is_one) {
    outside.factors.push_back(
        {arena_.reciprocal(arena_.form(scaled(std::move(form), leading.inverse()))), 1});
  }
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
  case AtomKind::kNumber:
    return true;
  case AtomKind::kIndex:
    return oracle_.implied(context, at_least(atom.index[0], 0));
  case AtomKind::kApply:
    return ops::properties(atom.function).non_negative;
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
    return non_negative(atom.arguments[0]->terms, context);
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), [&](const Piece& piece) {
      return non_negative(piece.body->terms, unite(context, piece.guards));
    });
  }
  return false;
}

/// Certainly greater than 0: a product of such factors, or a sum of them over something.
bool Normalizer::is_positive(const Term& term, const FactSet& context) {
  if (term.coefficient.sign() <= 0) return false;
  // A sum is over something if it is over 0.
  Substitution zero;
  for (Symbol binder : term.binders) zero.emplace_back(binder, Linear(0));
  const bool present = std::all_of(term.guards.begin(), term.guards.end(), [&](const Fact& fact) {
    return oracle_.implied(context, fact.substitute(zero));
  });
  const FactSet inside = unite(context, term.guards);
  return present &&
         std::all_of(term.factors.begin(), term.factors.end(), [&](const Factor& factor) {
           const Atom& atom = *factor.atom;
           switch (atom.kind) {
           case AtomKind::kNumber:
             return true;
           case AtomKind::kIndex:
             return oracle_.implied(inside, at_least(atom.index[0], 1));
           case AtomKind::kApply:
             return atom.function == ops::Function::kExp ||
                    atom.function == ops::Function::kSigmoid;
           case AtomKind::kReciprocal:
             return non_negative(atom.arguments[0]->terms, inside);
           case AtomKind::kRead:
           case AtomKind::kRounded:
           case AtomKind::kMax:
             return false;
           }
           return false;
         });
}

bool Normalizer::non_negative(const NormalForm& form, const FactSet& context) {
  return std::all_of(form.begin(), form.end(), [&](const Term& term) {
    const FactSet inside = unite(context, term.guards);
    return term.coefficient.sign() > 0 &&
           std::all_of(term.factors.begin(), term.factors.end(),
                       [&](const Factor& factor) { return non_negative(factor, inside); });
  });
}

/// A product is not 0 where no factor is, and a root is not 0 where its argument is not.
void Normalizer::require_factors(const Term& product, const FactSet& context) {
  for (const Factor& factor : product.factors) {
    const Atom& atom = *factor.atom;
    if (is_positive(Term{1, {}, {}, {{&atom, 1}}}, context)) continue;
    if (atom.kind == AtomKind::kApply && atom.function == ops::Function::kSqrt) {
      require(Demand::kNotZero, arena_.open(atom.arguments[0]), context);
    } else {
      domain_->require(arena_, Demand::kNotZero, {Term{1, {}, {}, {{&atom, 1}}}}, context, outer_,
                       choices_);
    }
  }
}

void Normalizer::require(Demand demand, const NormalForm& form, const FactSet& context) {
  if (const Fact* found = outer_guard(form, context)) {
    std::vector<Fact> cases{*found};
    for (Fact& opposite : found->negation()) cases.push_back(std::move(opposite));
    for (const Fact& fact : cases) {
      FactSet inside = context;
      insert(inside, fact);
      budget_.spend();
      if (oracle_.possible(inside)) require(demand, under(form, inside), inside);
    }
    return;
  }
  const bool is_product = form.size() == 1 && form[0].binders.empty() && form[0].guards.empty();
  if (demand == Demand::kNotZero && is_product) {
    require_factors(form[0], context);
    return;
  }
  const bool never_negative = non_negative(form, context);
  const bool holds =
      never_negative && (demand == Demand::kNotNegative ||
                         std::any_of(form.begin(), form.end(),
                                     [&](const Term& term) { return is_positive(term, context); }));
  if (holds) return;
  if (!reads_input(form)) {
    if (form.empty() ? demand == Demand::kNotZero : is_negative_number(form)) {
      throw OutOfBudget{"a value that does not exist"};
    }
    // A count: of the places under a window, which sees something.
    if (never_negative || is_count(form, context)) return;
  }
  // No multiple of the form is 0 or negative where the form is not.
  const Fraction scale = leading_coefficient(form);
  const NormalForm unit =
      scaled(form, (demand == Demand::kNotZero ? scale : scale.magnitude()).inverse());
  domain_->require(arena_, demand, unit, context, outer_, choices_);
}

/// Of 1/x (as x^−1, so of kPow), √x and log x.
void Normalizer::note_demands_of(ops::Function function, const NormalForm& argument,
                                 const FactSet& context) {
  if (domain_ == nullptr) return;
  const NormalForm form = collected(argument);
  if (function != ops::Function::kPow) require(Demand::kNotNegative, form, context);
  if (function != ops::Function::kSqrt) require(Demand::kNotZero, form, context);
}

}  // namespace soapstone::verifier
