// See rounding.h.
#include "verifier/laws/rounding.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"

namespace soapstone::verifier {
namespace {

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

/// Every value of the read is a number of the type. What stands for an element in a case has the
/// type that all inputs have.
bool RoundingLaws::holds_inputs(core::DataType type, const Atom& read) const {
  const auto holds = [&](core::DataType own) {
    if (core::is_floating(own)) return holds_all_of(type, own);
    const auto range = range_of(own);
    const WideInteger most = static_cast<WideInteger>(1) << precision_of(type);
    return range && IntegerRange{-most, most}.contains(*range);
  };
  if (const auto own = ranges_.type_of(read)) return holds(*own);
  return Signs::is_non_negative_read(read) && std::ranges::all_of(ranges_.types(), holds);
}

bool RoundingLaws::is_representable(const Atom& atom, core::DataType type) const {
  switch (atom.kind) {
  case AtomKind::kRead:
    return holds_inputs(type, atom);
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
bool RoundingLaws::is_representable(const NormalForm& form, core::DataType type) const {
  if (form.empty()) return true;
  const WideInteger most = static_cast<WideInteger>(1) << precision_of(type);
  if (const auto range = ranges_.range_of(form); range && ranges_.is_integral(form)) {
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

NormalForm RoundingLaws::rounded(const NormalForm& form, core::DataType type,
                                 const FactSet& context) {
  return cases_.split({form}, context, [this, type](const auto& forms, const FactSet& inside) {
    return rounded_whole(collected(cases_.under(forms[0], inside)), type, inside);
  });
}

NormalForm RoundingLaws::rounded_whole(const NormalForm& form, core::DataType type,
                                       const FactSet& context) {
  if (is_representable(form, type)) return form;
  // The number nearest to −x is −(that nearest to x), and rounding keeps the order of integers. No
  // kernel promises the latter to the last bit for numbers with a fraction.
  const Fraction sign = leading_coefficient(proof_.arena, form).sign() < 0 ? -1 : 1;
  const NormalForm unit = scaled(form, sign);
  const Factor* largest = only_factor(unit, AtomKind::kMax);
  if (largest != nullptr && unit[0].coefficient == Fraction(1) && ranges_.is_integral(unit)) {
    std::vector<OpenPiece> pieces = open_pieces(proof_.arena, *largest->atom);
    for (OpenPiece& piece : pieces) {
      piece.body = rounded(piece.body, type, unite(context, piece.guards));
    }
    return scaled(maxima_.maximum(std::move(pieces), context), sign);
  }
  const Form* exactly = proof_.arena.form(unit);
  return scaled(summand_of(proof_.arena.rounded(exactly, static_cast<std::uint32_t>(type))), sign);
}

}  // namespace soapstone::verifier
