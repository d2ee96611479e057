// What 1/x, √x and log demand of their arguments.
#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

using ops::Function;

bool is_negative_number(const NormalForm& form) {
  return form.size() == 1 && form[0].factors.empty() && form[0].binders.empty() &&
         form[0].coefficient.sign() < 0;
}

bool reads_input(const Atom& atom);

bool reads_input(const NormalForm& form) {
  return std::any_of(form.begin(), form.end(), [](const Summand& summand) {
    return std::any_of(summand.factors.begin(), summand.factors.end(),
                       [](const Factor& factor) { return reads_input(*factor.atom); });
  });
}

bool reads_input(const Atom& atom) {
  return atom.kind == AtomKind::kRead ||
         std::any_of(atom.arguments.begin(), atom.arguments.end(),
                     [](const Form* argument) { return reads_input(argument->summands); }) ||
         std::any_of(atom.pieces.begin(), atom.pieces.end(),
                     [](const Piece& piece) { return reads_input(piece.body->summands); });
}

}  // namespace

/// A product is not 0 where no factor is, and neither are |x|, √x and tanh(x) where x is not.
void Normalizer::require_factors(const Summand& product, const FactSet& context) {
  for (const Factor& factor : product.factors) {
    const Atom& atom = *factor.atom;
    if (is_positive(Summand{1, {}, {}, {{&atom, 1}}}, context)) continue;
    if (atom.kind == AtomKind::kApply && ops::properties(atom.function).zero_only_at_zero) {
      require(Demand::kNotZero, arena_.open(atom.arguments[0]), context);
    } else {
      domain_->require(arena_, oracle_, Demand::kNotZero, {Summand{1, {}, {}, {{&atom, 1}}}},
                       context, outer_, choices_);
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
                         std::any_of(form.begin(), form.end(), [&](const Summand& summand) {
                           return is_positive(summand, context);
                         }));
  if (holds) return;
  if (!reads_input(form)) {
    if (form.empty() ? demand == Demand::kNotZero : is_negative_number(form)) {
      throw OutOfBudget{"a value that does not exist"};
    }
    if (is_at_least(form, demand == Demand::kNotZero ? 1 : 0, context)) return;
  }
  // No multiple of the form is 0 or negative where the form is not.
  const Fraction scale = leading_coefficient(form);
  const NormalForm unit =
      scaled(form, (demand == Demand::kNotZero ? scale : scale.magnitude()).inverse());
  domain_->require(arena_, oracle_, demand, unit, context, outer_, choices_);
}

/// Of 1/x (as x^−1, so of kPow), √x and log x.
void Normalizer::note_demands_of(ops::Function function, const NormalForm& argument,
                                 const FactSet& context) {
  if (domain_ == nullptr) return;
  const NormalForm form = collected(argument);
  if (function != ops::Function::kPow) require(Demand::kNotNegative, form, context);
  if (function != ops::Function::kSqrt) require(Demand::kNotZero, form, context);
}

/// An integer that the context shows to be large enough.
bool Normalizer::is_at_least(const NormalForm& form, std::int64_t least, const FactSet& context) {
  const auto integer = as_integer(form);
  return integer && oracle_.implied(context, at_least(*integer, least));
}

void Normalizer::note_counts(const NormalForm& quotient) {
  for (const Summand& summand : quotient) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom->kind == AtomKind::kReciprocal && !is_count(factor.atom)) {
        counts_.push_back(factor.atom);
      }
    }
  }
}

bool Normalizer::is_never_zero(const NormalForm& form, const FactSet& context) {
  return is_at_least(form, 1, context) ||
         (non_negative(form, context) &&
          std::any_of(form.begin(), form.end(),
                      [&](const Summand& summand) { return is_positive(summand, context); }));
}

/// x^k for an integer k ≥ 0 has values everywhere, for k < 0 where x is not 0; other powers where x
/// is positive. Where exponents are no numbers this depends on them.
void Normalizer::note_demands_of_power(const std::vector<NormalForm>& arguments,
                                       const FactSet& context) {
  const auto exponent = as_constant(collected(arguments[1]));
  const bool integer = exponent && exponent->is_integer();
  if (!integer) note_demands_of(Function::kSqrt, arguments[0], context);
  if (!exponent || exponent->sign() < 0) note_demands_of(Function::kPow, arguments[0], context);
}

}  // namespace soapstone::verifier
