// Sums, products, reciprocals, and case distinctions over guards.
#include "verifier/normal_form/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxSummands = 3000;

NormalForm limited(NormalForm form) {
  if (form.size() > kMaxSummands) throw OutOfBudget{"too many terms"};
  return form;
}

constexpr int kMostNestedCases = 40;

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
  for (const Summand& x : a) {
    for (const Summand& y : b) {
      const bool clash = std::any_of(x.binders.begin(), x.binders.end(),
                                     [&](Symbol symbol) { return has(y.binders, symbol); });
      const Summand& other = clash ? arena_.refreshed(y) : y;
      Summand summand;
      summand.coefficient = x.coefficient * other.coefficient;
      summand.guards = unite(x.guards, other.guards);
      summand.binders = x.binders;
      summand.binders.insert(summand.binders.end(), other.binders.begin(), other.binders.end());
      summand.factors = x.factors;
      summand.factors.insert(summand.factors.end(), other.factors.begin(), other.factors.end());
      summand.factors = Arena::product(std::move(summand.factors));
      for (Summand& part : simplify(std::move(summand), context)) result.push_back(std::move(part));
    }
    if (result.size() > kMaxSummands) result = limited(collected(std::move(result)));
  }
  return limited(collected(std::move(result)));
}

const Fact* Normalizer::outer_guard(const NormalForm& form, const FactSet& context) {
  for (const Summand& summand : form) {
    for (const Fact& fact : summand.guards) {
      if (!fact.mentions_any(summand.binders) && !oracle_.implied(context, fact)) return &fact;
    }
  }
  return nullptr;
}

NormalForm Normalizer::under(const NormalForm& form, const FactSet& context) {
  NormalForm result;
  for (const Summand& summand : form) {
    Summand kept = summand;
    std::erase_if(kept.guards, [&](const Fact& fact) {
      return !fact.mentions_any(summand.binders) && oracle_.implied(context, fact);
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
    if (case_depth_ > kMostNestedCases) throw OutOfBudget{"too many cases within each other"};
    std::vector<Fact> cases{*found};
    for (Fact& opposite : found->negation()) cases.push_back(std::move(opposite));
    NormalForm result;
    for (const Fact& fact : cases) {
      FactSet inside = context;
      insert(inside, fact);
      if (!oracle_.possible(inside)) continue;
      std::vector<NormalForm> there;
      for (const NormalForm& each : forms) there.push_back(under(each, inside));
      for (Summand& summand : by_cases(there, inside, build)) {
        insert(summand.guards, fact);
        result.push_back(std::move(summand));
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

NormalForm Normalizer::summand_of(const Atom* atom) const {
  Summand summand;
  summand.factors = {{atom, 1}};
  return {std::move(summand)};
}

/// form = common · rest, where every atom that has one value throughout occurs in `rest` with its
/// least power 0. `wanted` says which atoms may be taken out. Unbound ones only.
std::vector<Factor> Normalizer::take_common(NormalForm& form,
                                            const std::function<bool(const Factor&)>& wanted) {
  std::vector<Factor> common;
  const auto power_in = [](const Summand& summand, const Atom* atom) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom == atom) return factor.exponent;
    }
    return Fraction(0);
  };
  for (const Summand& summand : form) {
    for (const Factor& factor : summand.factors) {
      const Atom* atom = factor.atom;
      const bool known = std::any_of(common.begin(), common.end(),
                                     [&](const Factor& other) { return other.atom == atom; });
      const bool bound = std::any_of(form.begin(), form.end(), [&](const Summand& each) {
        return std::any_of(atom->free_symbols.begin(), atom->free_symbols.end(),
                           [&](Symbol symbol) { return has(each.binders, symbol); });
      });
      if (known || bound) continue;
      Fraction least = factor.exponent;
      for (const Summand& other : form) least = std::min(least, power_in(other, atom));
      if (!least.is_zero() && wanted({atom, least})) common.push_back({atom, least});
    }
  }
  for (Summand& summand : form) {
    for (const Factor& factor : common) summand.factors.push_back({factor.atom, -factor.exponent});
    summand.factors = Arena::product(std::move(summand.factors));
  }
  return common;
}

/// 1 / (c·a·(rest)) = c⁻¹·a⁻¹·(1 / rest) for what all summands have in common.
NormalForm Normalizer::reciprocal_of_whole(NormalForm form, const FactSet& context) {
  form = collected(std::move(form));
  if (form.empty()) throw OutOfBudget{"division by zero"};
  Summand outside;
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

/// Of the first summand in an order that does not look at coefficients.
Fraction Normalizer::leading_coefficient(const NormalForm& form) {
  return form.empty() ? Fraction(1) : arena_.form(form)->summands[0].coefficient;
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
