// Ways to a proof, cheapest first: compare; compare case by case; unroll short constant ranges;
// multiply both sides by a denominator; distinguish which of some values is the largest.
#include "verifier/proof/proof.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "verifier/orders/order_cases.h"

namespace soapstone::verifier {
namespace {

constexpr int kMaxCaseDepth = 8;
constexpr int kMaxDenominators = 4;

class Prover {
 public:
  explicit Prover(Laws& laws) : laws_(laws), checker_(laws.proof) {}

  bool prove(const NormalForm& a, const NormalForm& b, const FactSet& context,
             const Premises& premises, bool thorough);

 private:
  bool by_cases(const NormalForm& a, const NormalForm& b, const FactSet& context, int depth);
  NormalForm unrolled(const NormalForm& form, const FactSet& context, bool& changed);
  std::optional<NormalForm> without_denominator(const NormalForm& difference,
                                                const FactSet& context, const Premises& premises);

  Laws& laws_;
  Checker checker_;
};

/// Splits on every guard that mentions no binder, then compares in each case.
bool Prover::by_cases(const NormalForm& a, const NormalForm& b, const FactSet& context, int depth) {
  if (depth > kMaxCaseDepth) return false;
  const Fact* found = laws_.cases.outer_guard(a, context);
  if (found == nullptr) found = laws_.cases.outer_guard(b, context);
  if (found == nullptr) return checker_.equal(a, b, context);
  std::vector<Fact> cases{*found};
  for (Fact& opposite : found->negation()) cases.push_back(std::move(opposite));
  return std::all_of(cases.begin(), cases.end(), [&](const Fact& fact) {
    FactSet inside = context;
    insert(inside, fact);
    return !laws_.proof.possible(inside) ||
           by_cases(laws_.cases.under(a, inside), laws_.cases.under(b, inside), inside, depth + 1);
  });
}

NormalForm Prover::unrolled(const NormalForm& form, const FactSet& context, bool& changed) {
  NormalForm result;
  for (const Summand& summand : form) {
    const auto parts = laws_.simplifier.written_out(summand, context);
    changed = changed || parts;
    if (!parts) {
      result.push_back(summand);
    } else {
      for (Summand& part : unrolled(*parts, context, changed)) result.push_back(std::move(part));
    }
  }
  return collected(std::move(result));
}

/// Multiplies a − b by a denominator D: (a − b)·D = 0 implies a = b only if D ≠ 0. In a branch that
/// is not taken 1/D need not exist, so D must be provably never 0.
std::optional<NormalForm> Prover::without_denominator(const NormalForm& difference,
                                                      const FactSet& context,
                                                      const Premises& premises) {
  const auto is_defined = [&](const Atom* reciprocal) {
    const std::vector<const Atom*>& known = premises.defined;
    return std::find(known.begin(), known.end(), reciprocal) != known.end() ||
           laws_.demands.is_count(reciprocal) ||
           laws_.demands.is_never_zero(reciprocal->arguments[0]->summands, context);
  };
  const Atom* atom = nullptr;
  for (const Summand& summand : difference) {
    for (const Factor& factor : summand.factors) {
      const bool bound =
          std::any_of(summand.binders.begin(), summand.binders.end(), [&](Symbol binder) {
            return std::binary_search(factor.atom->free_symbols.begin(),
                                      factor.atom->free_symbols.end(), binder);
          });
      if (factor.atom->kind == AtomKind::kReciprocal && !bound && atom == nullptr &&
          is_defined(factor.atom)) {
        atom = factor.atom;
      }
    }
  }
  if (atom == nullptr) return std::nullopt;
  const auto exponent_in = [&](const Summand& summand) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom == atom) return factor.exponent;
    }
    return Fraction(0);
  };
  Fraction highest = 0;
  for (const Summand& summand : difference) highest = std::max(highest, exponent_in(summand));
  if (!highest.is_integer()) return std::nullopt;
  NormalForm result;
  for (const Summand& summand : difference) {
    Fraction missing = highest - exponent_in(summand);
    Summand bare = summand;
    std::erase_if(bare.factors, [&](const Factor& factor) { return factor.atom == atom; });
    NormalForm product{std::move(bare)};
    for (; missing.sign() > 0; missing = missing - 1) {
      product =
          laws_.simplifier.product(product, laws_.proof.arena.open(atom->arguments[0]), context);
    }
    result.insert(result.end(), product.begin(), product.end());
  }
  return collected(std::move(result));
}

bool Prover::prove(const NormalForm& a, const NormalForm& b, const FactSet& context,
                   const Premises& premises, bool thorough) {
  if (checker_.equal(a, b, context)) return true;
  const bool has_cases = laws_.cases.outer_guard(a, context) != nullptr ||
                         laws_.cases.outer_guard(b, context) != nullptr;
  if (has_cases && by_cases(a, b, context, 0)) return true;
  bool changed = false;
  const NormalForm x = unrolled(a, context, changed);
  const NormalForm y = unrolled(b, context, changed);
  if (changed && by_cases(x, y, context, 0)) return true;
  NormalForm difference = a;
  for (const Summand& summand : b) {
    difference.push_back(summand);
    difference.back().coefficient = -summand.coefficient;
  }
  for (int k = 0; k < kMaxDenominators; ++k) {
    const auto cleared = without_denominator(difference, context, premises);
    if (!cleared) break;
    if (checker_.equal(*cleared, {}, context)) return true;
    difference = *cleared;
  }
  difference = collected(std::move(difference));
  const auto is_zero = [&](bool with_axioms) {
    return zero_in_every_order(laws_, checker_, difference, context, premises.non_negative,
                               with_axioms);
  };
  return is_zero(false) || (thorough && is_zero(true));
}

}  // namespace

bool prove_equal(Laws& laws, const NormalForm& a, const NormalForm& b, const FactSet& context,
                 const Premises& premises, bool thorough) {
  return Prover(laws).prove(a, b, context, premises, thorough);
}

}  // namespace soapstone::verifier
