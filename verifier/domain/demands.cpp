// See demands.h.
#include "verifier/domain/demands.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"

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

void Demands::add(Demand demand, const NormalForm& form, const FactSet& context) {
  domain_->require(proof_.arena, proof_.oracle, demand, form, context, digits_.outer(), choices_);
}

/// A product is not 0 where no factor is, and neither are |x|, √x and tanh(x) where x is not.
void Demands::require_factors(const Summand& product, const FactSet& context) {
  for (const Factor& factor : product.factors) {
    const Atom& atom = *factor.atom;
    if (signs_.is_positive(Summand{1, {}, {}, {{&atom, 1}}}, context)) continue;
    if (atom.kind == AtomKind::kApply && ops::properties(atom.function).zero_only_at_zero) {
      require(Demand::kNotZero, proof_.arena.open(atom.arguments[0]), context);
    } else {
      add(Demand::kNotZero, {Summand{1, {}, {}, {{&atom, 1}}}}, context);
    }
  }
}

void Demands::require(Demand demand, const NormalForm& form, const FactSet& context) {
  if (const Fact* found = cases_.outer_guard(form, context)) {
    for (const Fact& fact : cases_of(*found)) {
      FactSet inside = context;
      insert(inside, fact);
      proof_.spend();
      if (proof_.possible(inside)) require(demand, cases_.under(form, inside), inside);
    }
    return;
  }
  if (demand == Demand::kNotZero && is_product(form)) {
    require_factors(form[0], context);
    return;
  }
  const bool holds = demand == Demand::kNotNegative ? signs_.non_negative(form, context)
                                                    : signs_.has_positive_part(form, context);
  if (holds) return;
  if (!reads_input(form)) {
    if (form.empty() ? demand == Demand::kNotZero : is_negative_number(form)) {
      throw OutOfBudget{"a value that does not exist"};
    }
    if (is_at_least(form, demand == Demand::kNotZero ? 1 : 0, context)) return;
  }
  // No multiple of the form is 0 or negative where the form is not.
  const Fraction scale = leading_coefficient(proof_.arena, form);
  const NormalForm unit =
      scaled(form, (demand == Demand::kNotZero ? scale : scale.magnitude()).inverse());
  add(demand, unit, context);
}

void Demands::note(ops::Function function, const NormalForm& argument, const FactSet& context) {
  if (domain_ == nullptr) return;
  const NormalForm form = collected(argument);
  if (function != ops::Function::kPow) require(Demand::kNotNegative, form, context);
  if (function != ops::Function::kSqrt) require(Demand::kNotZero, form, context);
}

void Demands::note_power(const std::vector<NormalForm>& arguments, const FactSet& context) {
  const auto exponent = as_constant(collected(arguments[1]));
  const bool integer = exponent && exponent->is_integer();
  if (!integer) note(Function::kSqrt, arguments[0], context);
  if (!exponent || exponent->sign() < 0) note(Function::kPow, arguments[0], context);
}

/// An element that an index selects must be in range where all elements are.
bool Demands::note_range(const NormalForm& value, const Linear& low, const Linear& high,
                         const FactSet& context, bool of_all) {
  if (domain_ == nullptr) return false;
  const auto selection = of_all ? selectors_.selection_in({value}) : std::nullopt;
  if (selection) {
    note_range(selection->inside[0], low, high, unite(context, selection->range), of_all);
    return true;
  }
  require(Demand::kNotNegative, sum_of(value, negated(proof_.arena.value_of(low))), context);
  require(Demand::kNotNegative, sum_of(proof_.arena.value_of(high - 1), negated(value)), context);
  return false;
}

/// An integer that the context shows to be large enough.
bool Demands::is_at_least(const NormalForm& form, std::int64_t least,
                          const FactSet& context) const {
  const auto integer = as_integer(form);
  return integer && proof_.implied(context, at_least(*integer, least));
}

void Demands::note_counts(const NormalForm& quotient) {
  for (const Summand& summand : quotient) {
    for (const Factor& factor : summand.factors) {
      if (factor.atom->kind == AtomKind::kReciprocal && !is_count(factor.atom)) {
        counts_.push_back(factor.atom);
      }
    }
  }
}

bool Demands::is_never_zero(const NormalForm& form, const FactSet& context) const {
  return is_at_least(form, 1, context) || signs_.has_positive_part(form, context);
}

bool Demands::is_count(const Atom* reciprocal) const {
  return std::find(counts_.begin(), counts_.end(), reciprocal) != counts_.end();
}

}  // namespace soapstone::verifier
