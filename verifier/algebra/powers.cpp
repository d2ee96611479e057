// See powers.h. Each law lowers the number of factors or an exponent, so the order does not matter
// and there is an end.
#include "verifier/algebra/powers.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {

void unite_equal_reads(Summand& summand, const FactSet& context) {
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
bool Powers::join_with_relu(Summand& summand) const {
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
      inside = {{proof_.arena.maximum(std::move(others)), 1}};
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

void Powers::simplify(Summand& summand) const {
  bool changed = false;
  while (join_with_relu(summand)) proof_.spend();
  for (Factor& factor : summand.factors) {
    const Atom& atom = *factor.atom;
    if (ranges_.is_boolean(atom) && factor.exponent.is_integer() && factor.exponent > Fraction(1)) {
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

}  // namespace soapstone::verifier
