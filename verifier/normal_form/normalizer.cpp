// Sums, products, reciprocals, and case distinctions over guards.
#include "verifier/normal_form/normalizer.h"

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

}  // namespace

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

}  // namespace soapstone::verifier
