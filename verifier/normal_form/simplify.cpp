// One summand at a time: equations solved, sums over nothing new counted, impossible summands
// dropped.
#include "verifier/normal_form/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace soapstone::verifier {
namespace {

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

constexpr std::int64_t kMaxUnrolled = 9;

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

std::optional<NormalForm> Normalizer::unrolled(const Summand& summand, const FactSet& context) {
  for (Symbol binder : summand.binders) {
    const auto range = constant_range(summand.guards, binder);
    if (!range) continue;
    Summand rest = summand;
    std::erase(rest.binders, binder);
    NormalForm result;
    for (std::int64_t value = range->first; value <= range->second; ++value) {
      for (Summand& part : arena_.substitute(rest, {{binder, Linear(value)}})) {
        for (Summand& simple : simplify(std::move(part), context)) {
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
      for (const Summand& summand : piece.body) {
        for (Summand& each : arena_.substitute(summand, here)) part.body.push_back(std::move(each));
      }
      if (possible) result.push_back(std::move(part));
    }
    return result;
  }
  return std::nullopt;
}

/// Eliminates binders that an equation determines. False: the guards contradict each other.
bool Normalizer::solve_equations(Summand& summand, Substitution& solved) {
  for (bool again = true; again;) {
    again = false;
    pair_up_inequalities(summand.guards);
    for (const Fact& fact : summand.guards) {
      if (fact.kind != Fact::Kind::kZero) continue;
      for (Symbol binder : summand.binders) {
        const auto value = solved_for(fact, binder);
        if (!value) continue;
        const Substitution step{{binder, *value}};
        FactSet guards;
        for (const Fact& other : summand.guards) {
          if (other == fact) continue;
          Fact replaced = other.substitute(step);
          const auto truth = replaced.truth();
          if (truth == false) return false;
          if (!truth) insert(guards, std::move(replaced));
        }
        for (auto& [symbol, old] : solved) old = old.substitute(step);
        solved.emplace_back(binder, *value);
        std::erase(summand.binders, binder);
        summand.guards = std::move(guards);
        again = true;
        break;
      }
      if (again) break;
    }
  }
  return true;
}

/// Σ over low ≤ v < high of something without v is (high − low) times it.
NormalForm Normalizer::count_free_binder(const Summand& summand, const FactSet& context,
                                         bool& counted) {
  for (Symbol binder : summand.binders) {
    const bool used =
        std::any_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
          return std::binary_search(factor.atom->free_symbols.begin(),
                                    factor.atom->free_symbols.end(), binder);
        });
    if (used) continue;
    const Bounds bounds = bounds_of(summand.guards, binder);
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
    Summand rest = summand;
    std::erase(rest.binders, binder);
    rest.guards = bounds.others;
    NormalForm result;
    for (const Summand& part : arena_.value_of(count)) {
      Summand product = rest;
      product.coefficient = product.coefficient * part.coefficient;
      product.factors.insert(product.factors.end(), part.factors.begin(), part.factors.end());
      product.factors = Arena::product(std::move(product.factors));
      for (Summand& simple : simplify(std::move(product), context)) {
        result.push_back(std::move(simple));
      }
    }
    return result;
  }
  return {};
}

/// [i = j]·x[i]·x[j] = [i = j]·x[i]²
void Normalizer::unite_equal_factors(Summand& summand, const FactSet& context) {
  if (summand.factors.size() < 2) return;
  const auto same = [](const Atom& a, const Atom& b, const Linear& zero) {
    if (a.kind != AtomKind::kRead || b.kind != a.kind || b.tensor != a.tensor) return false;
    return std::equal(
        a.index.begin(), a.index.end(), b.index.begin(),
        [&](const Linear& x, const Linear& y) { return x == y || x - y == zero || y - x == zero; });
  };
  bool changed = false;
  for (const Fact& fact : unite(summand.guards, context)) {
    if (fact.kind != Fact::Kind::kZero) continue;
    for (std::size_t k = 1; k < summand.factors.size(); ++k) {
      for (std::size_t j = 0; j < k; ++j) {
        const Atom* first = summand.factors[j].atom;
        if (summand.factors[k].atom == first ||
            !same(*first, *summand.factors[k].atom, fact.expression))
          continue;
        summand.factors[k].atom = first;
        changed = true;
      }
    }
  }
  if (changed) summand.factors = Arena::product(std::move(summand.factors));
}

/// x·relu(x) = relu(x)², and so for products x and for maxima: M·max(M, 0) = max(M, 0)².
bool Normalizer::join_with_relu(Summand& summand) {
  for (Factor& own : summand.factors) {
    if (!own.exponent.is_integer() || own.exponent.sign() <= 0) continue;
    Fraction sign = 1;
    std::vector<Factor> inside;
    if (own.atom->kind == AtomKind::kMax) {
      std::vector<Piece> others = own.atom->pieces;
      const auto is_zero = [](const Piece& piece) {
        return piece.binders.empty() && piece.guards.empty() && piece.body->summands.empty();
      };
      if (std::erase_if(others, is_zero) == 0 || others.empty()) continue;
      inside = {{arena_.maximum(std::move(others)), 1}};
    } else if (own.atom->kind == AtomKind::kApply && own.atom->function == ops::Function::kRelu) {
      const NormalForm& argument = own.atom->arguments[0]->summands;
      const bool plain = argument.size() == 1 && argument[0].binders.empty() &&
                         argument[0].guards.empty() && !argument[0].factors.empty() &&
                         argument[0].coefficient.magnitude() == Fraction(1);
      if (!plain) continue;
      sign = argument[0].coefficient;
      inside = argument[0].factors;
    } else {
      continue;
    }
    const bool present = std::all_of(inside.begin(), inside.end(), [&](const Factor& wanted) {
      return wanted.exponent.sign() > 0 &&
             std::any_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
               return factor.atom == wanted.atom && factor.exponent >= wanted.exponent;
             });
    });
    if (!present) continue;
    own.exponent = own.exponent + 1;
    summand.coefficient = summand.coefficient * sign;
    for (const Factor& each : inside) summand.factors.push_back({each.atom, -each.exponent});
    summand.factors = Arena::product(std::move(summand.factors));
    return true;
  }
  return false;
}

/// |x|² = x², and c² = c for a truth value c.
void Normalizer::simplify_powers(Summand& summand) {
  bool changed = false;
  while (join_with_relu(summand)) budget_.spend();
  for (Factor& factor : summand.factors) {
    const Atom& atom = *factor.atom;
    if (is_boolean(atom) && factor.exponent.is_integer() && factor.exponent > Fraction(1)) {
      factor.exponent = 1;
    }
    if (atom.kind != AtomKind::kApply || atom.function != ops::Function::kAbs ||
        !factor.exponent.is_even()) {
      continue;
    }
    const NormalForm& inside = atom.arguments[0]->summands;
    const bool alone = inside.size() == 1 && inside[0].binders.empty() &&
                       inside[0].guards.empty() && inside[0].coefficient == Fraction(1) &&
                       inside[0].factors.size() == 1;
    if (!alone) continue;
    factor = {inside[0].factors[0].atom, inside[0].factors[0].exponent * factor.exponent};
    changed = true;
  }
  if (changed) summand.factors = Arena::product(std::move(summand.factors));
}

/// √x·√x = x and 1/(√x·√x) = 1/x for x that is never negative.
std::optional<NormalForm> Normalizer::without_square_of_root(const Summand& summand,
                                                             const FactSet& context) {
  for (std::size_t k = 0; k < summand.factors.size(); ++k) {
    const Factor& factor = summand.factors[k];
    const bool square =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kSqrt &&
        factor.exponent.is_integer() && factor.exponent.magnitude() >= Fraction(2) &&
        non_negative(factor.atom->arguments[0]->summands, context);
    if (!square) continue;
    Summand rest = summand;
    const Fraction step = factor.exponent.sign() > 0 ? 2 : -2;
    rest.factors[k].exponent = factor.exponent - step;
    rest.factors = Arena::product(std::move(rest.factors));
    NormalForm inside = arena_.open(factor.atom->arguments[0]);
    if (step.sign() < 0) inside = reciprocal(inside, context);
    return product({std::move(rest)}, inside, context);
  }
  return std::nullopt;
}

/// 1/(1/x) = x: that x is not 0 is noted where the inner one is met.
std::optional<NormalForm> Normalizer::without_inverse_of_inverse(const Summand& summand,
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
    return product({std::move(rest)}, arena_.open(factor.atom->arguments[0]), context);
  }
  return std::nullopt;
}

NormalForm Normalizer::simplify(Summand summand, const FactSet& context) {
  budget_.spend();
  if (summand.coefficient.is_zero()) return {};
  unite_equal_factors(summand, context);
  simplify_powers(summand);
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
  if (!solve_equations(summand, solved)) return {};
  if (!solved.empty()) {
    NormalForm result;
    for (Summand& part : arena_.substitute(summand, solved)) {
      for (Summand& simple : simplify(std::move(part), context))
        result.push_back(std::move(simple));
    }
    return collected(std::move(result));
  }
  if (!summand.guards.empty() && !oracle_.possible(unite(context, summand.guards))) return {};
  std::erase_if(summand.guards, [&](const Fact& fact) { return contains(context, fact); });
  if (!selectors_.empty()) {
    if (auto rest = without_selector(summand)) return simplify(*std::move(rest), context);
  }
  bool counted = false;
  NormalForm result = count_free_binder(summand, context, counted);
  if (counted) return collected(std::move(result));
  if (is_expanding_) {
    if (auto parts = unrolled(summand, context)) return *std::move(parts);
  } else {
    met_expandable_ =
        met_expandable_ ||
        std::any_of(summand.binders.begin(), summand.binders.end(), [&](Symbol binder) {
          return constant_range(summand.guards, binder).has_value();
        });
  }
  return {std::move(summand)};
}

}  // namespace soapstone::verifier
