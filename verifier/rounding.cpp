// Floating point, for the question whether a rule keeps every bit. The model: an operator computes
// each element as if exactly and rounds it once; in which order a kernel adds is its own affair.
#include <algorithm>
#include <utility>

#include "verifier/normalizer.h"

namespace soapstone::verifier {
namespace {

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

/// Numbers that are exact already: 0, elements of inputs, rounded values, what is chosen from them,
/// and all of these times ±2^k.
bool Normalizer::is_representable(const NormalForm& form) const {
  if (form.empty()) return true;
  if (form.size() != 1 || !form[0].binders.empty() || !form[0].guards.empty()) return false;
  const Fraction scale = form[0].coefficient.magnitude();
  if (!is_power_of_two(scale.numerator()) || !is_power_of_two(scale.denominator())) return false;
  const std::vector<Factor>& factors = form[0].factors;
  if (factors.empty()) return true;
  if (factors.size() != 1 || factors[0].exponent != Fraction(1)) return false;
  const Atom& atom = *factors[0].atom;
  switch (atom.kind) {
  case AtomKind::kRead:
  case AtomKind::kRounded:
    return true;
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(),
                       [&](const Piece& piece) { return is_representable(piece.body->terms); });
  case AtomKind::kApply:
    return (atom.function == ops::Function::kRelu || atom.function == ops::Function::kAbs) &&
           is_representable(atom.arguments[0]->terms);
  case AtomKind::kIndex:
  case AtomKind::kNumber:
  case AtomKind::kReciprocal:
    return false;
  }
  return false;
}

NormalForm Normalizer::rounded(const NormalForm& form, std::uint32_t format,
                               const FactSet& context) {
  return by_cases({form}, context, [this, format](const auto& forms, const FactSet& inside) {
    NormalForm whole = collected(under(forms[0], inside));
    if (format == kOwnFormat && is_representable(whole)) return whole;
    // The nearest number to −x is that to x, negated.
    const Fraction sign = leading_coefficient(whole).sign() < 0 ? -1 : 1;
    const Form* exactly = arena_.form(scaled(std::move(whole), sign));
    return scaled(atom_term(arena_.rounded(exactly, format)), sign);
  });
}

}  // namespace soapstone::verifier
