// Normal forms as text, for people who look at why a proof failed.
#include <fmt/format.h>

#include "verifier/terms/term.h"

namespace soapstone::verifier {
namespace {

std::string text_of(const Fraction& value) {
  return value.is_integer() ? fmt::format("{}", value.numerator())
                            : fmt::format("{}/{}", value.numerator(), value.denominator());
}

std::string text_of(const std::vector<Symbol>& binders, const FactSet& guards) {
  std::string text;
  for (Symbol binder : binders) text += fmt::format("{}v{}", text.empty() ? "" : ",", binder.id);
  std::string facts;
  for (const Fact& fact : guards) facts += (facts.empty() ? "" : ", ") + fact.to_string();
  if (!facts.empty()) text += "[" + facts + "]";
  return text;
}

std::string text_of(const Atom& atom) {
  std::string list;
  for (const Linear& index : atom.index) list += (list.empty() ? "" : ", ") + index.to_string();
  for (const Form* argument : atom.arguments) {
    list += (list.empty() ? "" : ", ") + to_string(argument->terms);
  }
  for (const Piece& piece : atom.pieces) {
    list += (list.empty() ? "" : ", ") + text_of(piece.binders, piece.guards) + " " +
            to_string(piece.body->terms);
  }
  switch (atom.kind) {
  case AtomKind::kRead:
    return fmt::format("x{}[{}]", atom.tensor, list);
  case AtomKind::kIndex:
    return list;
  case AtomKind::kNumber:
    return text_of(atom.number);
  case AtomKind::kApply:
    return fmt::format("{}({})", ops::properties(atom.function).name, list);
  case AtomKind::kReciprocal:
    return fmt::format("1/({})", list);
  case AtomKind::kRounded:
    return fmt::format("round({})", list);
  case AtomKind::kWrapped:
    return fmt::format("wrap{}({})", atom.tensor, list);
  case AtomKind::kMax:
    return fmt::format("max({})", list);
  }
  return {};
}

}  // namespace

std::string to_string(const NormalForm& form) {
  std::string text;
  for (const Term& term : form) {
    if (!text.empty()) text += " + ";
    text += text_of(term.coefficient);
    if (!term.binders.empty()) text += " sum ";
    text += text_of(term.binders, term.guards);
    for (const Factor& factor : term.factors) {
      text += " " + text_of(*factor.atom);
      if (factor.exponent != Fraction(1)) text += "^" + text_of(factor.exponent);
    }
  }
  return text.empty() ? "0" : text;
}

}  // namespace soapstone::verifier
