// Floating point, for the question whether a rule keeps every bit. The model: an operator computes
// each element as if exactly and rounds it once; in which order a kernel adds is its own affair.
#include <algorithm>
#include <utility>

#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {
namespace {

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

bool Normalizer::is_representable(const Atom& atom, core::DataType type) const {
  switch (atom.kind) {
  case AtomKind::kRead: {
    // What stands for an element in a case has the type that all inputs have.
    const auto holds = [&](core::DataType own) {
      if (core::is_floating(own)) return holds_all_of(type, own);
      const auto range = verifier::range_of(own);
      const WideInteger most = static_cast<WideInteger>(1) << precision_of(type);
      return range && IntegerRange{-most, most}.contains(*range);
    };
    if (atom.tensor < types_.size()) return holds(types_[atom.tensor]);
    return is_non_negative_read(atom) && std::all_of(types_.begin(), types_.end(), holds);
  }
  case AtomKind::kRounded:
    return holds_all_of(type, static_cast<core::DataType>(atom.tensor));
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), [&](const Piece& piece) {
      return is_representable(piece.body->summands, type);
    });
  case AtomKind::kApply:
    return (atom.function == ops::Function::kRelu || atom.function == ops::Function::kAbs) &&
           is_representable(atom.arguments[0]->summands, type);
  case AtomKind::kIndex:
  case AtomKind::kNumber:
  case AtomKind::kReciprocal:
  case AtomKind::kWrapped:
    return false;
  }
  return false;
}

/// Numbers that are exact already: 0, elements of inputs, rounded values, what is chosen from them,
/// all of these times ±2^k, and small integers.
bool Normalizer::is_representable(const NormalForm& form, core::DataType type) const {
  if (form.empty()) return true;
  const WideInteger most = static_cast<WideInteger>(1) << precision_of(type);
  if (const auto range = range_of(form); range && is_integral(form)) {
    if (IntegerRange{-most, most}.contains(*range)) return true;
  }
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty()) return false;
  const Fraction scale = form[0].coefficient.magnitude();
  if (!is_power_of_two(scale.numerator()) || !is_power_of_two(scale.denominator())) return false;
  const std::vector<Factor>& factors = form[0].factors;
  if (factors.empty()) return true;
  return factors.size() == 1 && factors[0].exponent == Fraction(1) &&
         is_representable(*factors[0].atom, type);
}

NormalForm Normalizer::rounded(const NormalForm& form, core::DataType type,
                               const FactSet& context) {
  return by_cases({form}, context, [this, type](const auto& forms, const FactSet& inside) {
    return rounded_whole(collected(under(forms[0], inside)), type, inside);
  });
}

NormalForm Normalizer::rounded_whole(const NormalForm& form, core::DataType type,
                                     const FactSet& context) {
  if (is_representable(form, type)) return form;
  // The nearest number to −x is that to x, negated; and of two integers the larger has the larger.
  // Of what a kernel computes as a number with a fraction this is not promised to the last bit.
  const Fraction sign = leading_coefficient(form).sign() < 0 ? -1 : 1;
  const NormalForm unit = scaled(form, sign);
  const Factor* largest = only_factor(unit, AtomKind::kMax);
  if (largest != nullptr && unit[0].coefficient == Fraction(1) && is_integral(unit)) {
    std::vector<OpenPiece> pieces = open(largest->atom);
    for (OpenPiece& piece : pieces) {
      piece.body = rounded(piece.body, type, unite(context, piece.guards));
    }
    return scaled(maximum(std::move(pieces), context), sign);
  }
  const Form* exactly = arena_.form(unit);
  return scaled(summand_of(arena_.rounded(exactly, static_cast<std::uint32_t>(type))), sign);
}

}  // namespace soapstone::verifier
