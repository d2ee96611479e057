// Canonical names of binders, and substitution without capture.
#include <algorithm>
#include <optional>
#include <utility>

#include "verifier/forms/arena.h"

namespace soapstone::verifier {
namespace {

bool mentions_any(std::span<const Symbol> free, const Substitution& substitution) {
  return std::any_of(substitution.begin(), substitution.end(), [&](const auto& entry) {
    return std::binary_search(free.begin(), free.end(), entry.first);
  });
}

}  // namespace

Summand Arena::canonical(const Summand& summand, std::uint32_t height) {
  if (summand.binders.empty()) return summand;
  if (summand.binders.size() > kPerHeight) throw OutOfBudget{"too many bound variables"};
  std::vector<Symbol> order;
  const auto visit = [&](Symbol symbol) {
    const bool bound =
        std::find(summand.binders.begin(), summand.binders.end(), symbol) != summand.binders.end();
    if (bound && std::find(order.begin(), order.end(), symbol) == order.end()) {
      order.push_back(symbol);
    }
  };
  for (const Factor& factor : summand.factors) {
    std::vector<Symbol> symbols;
    for (const Linear& index : factor.atom->index) index.append_symbols(symbols);
    std::for_each(symbols.begin(), symbols.end(), visit);
  }
  for (const Factor& factor : summand.factors) {
    std::for_each(factor.atom->free_symbols.begin(), factor.atom->free_symbols.end(), visit);
  }
  std::for_each(summand.binders.begin(), summand.binders.end(), visit);
  Substitution renaming;
  std::vector<Symbol> names;
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    names.push_back({kFirstCanonical + height * kPerHeight + k});
    renaming.emplace_back(order[k], Linear(names.back()));
  }
  Summand renamed = rename(summand, renaming);
  renamed.binders = std::move(names);
  return renamed;
}

Summand Arena::rename(const Summand& summand, const Substitution& renaming) {
  Summand body = summand;
  body.binders.clear();
  NormalForm result = substitute(body, renaming);
  CHECK(result.size() == 1, "renaming changed a summand");
  result[0].binders = summand.binders;
  return std::move(result[0]);
}

const Atom* Arena::substitute(const Atom* atom, const Substitution& substitution) {
  if (!mentions_any(atom->free_symbols, substitution)) return atom;
  if (++visits_ > kMaxVisits) throw OutOfBudget{"too many expressions in which to replace symbols"};
  switch (atom->kind) {
  case AtomKind::kRead: {
    std::vector<Linear> index;
    for (const Linear& part : atom->index) index.push_back(part.substitute(substitution));
    return read(atom->tensor, std::move(index));
  }
  case AtomKind::kNumber:
    return atom;
  case AtomKind::kIndex:
    CHECK(false, "integers are substituted by their summand");
    break;
  case AtomKind::kApply: {
    std::vector<const Form*> arguments;
    for (const Form* argument : atom->arguments) {
      arguments.push_back(substitute(argument, substitution));
    }
    return apply(atom->function, std::move(arguments));
  }
  case AtomKind::kReciprocal:
    return reciprocal(substitute(atom->arguments[0], substitution));
  case AtomKind::kRounded:
    return rounded(substitute(atom->arguments[0], substitution), atom->tensor);
  case AtomKind::kWrapped:
    return wrapped(substitute(atom->arguments[0], substitution), atom->tensor);
  case AtomKind::kMax:
    break;
  }
  std::vector<Piece> pieces;
  for (const Piece& original : atom->pieces) {
    Piece piece = captures(substitution, atom->height) ? refreshed(original) : original;
    FactSet guards;
    for (const Fact& fact : piece.guards) insert(guards, fact.substitute(substitution));
    pieces.push_back({piece.binders, std::move(guards), substitute(piece.body, substitution)});
  }
  return maximum(canonical_pieces(std::move(pieces)));
}

/// Would a value bring in a name that is bound at this height or below?
bool Arena::captures(const Substitution& substitution, std::uint32_t height) {
  const std::uint32_t end = kFirstCanonical + (height + 1) * kPerHeight;
  std::vector<Symbol> symbols;
  for (const auto& [name, value] : substitution) value.append_symbols(symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
    return symbol.id >= kFirstCanonical && symbol.id < end;
  });
}

std::vector<Piece> Arena::canonical_pieces(std::vector<Piece> pieces) {
  for (Piece& piece : pieces) {
    if (piece.binders.empty()) continue;
    // A summand that reads the body as one atom gives the binders their names.
    Summand box;
    box.guards = piece.guards;
    box.binders = piece.binders;
    box.factors = {{reciprocal(piece.body), 1}};
    box = canonical(box, free_height({box}, piece.body->height + 1));
    piece = {box.binders, box.guards, box.factors[0].atom->arguments[0]};
  }
  return pieces;
}

const Form* Arena::substitute(const Form* form, const Substitution& substitution) {
  if (!mentions_any(form->free_symbols, substitution)) return form;
  const bool refresh = captures(substitution, form->height);
  NormalForm summands;
  for (const Summand& summand : form->summands) {
    const Summand fresh = refresh ? refreshed(summand) : summand;
    for (Summand& part : substitute(fresh, substitution)) summands.push_back(std::move(part));
  }
  return this->form(collected(std::move(summands)));
}

namespace {

/// Π of the integer values to their powers, as a sum of products of symbols.
struct IntegerProduct {
  Fraction coefficient = 1;
  std::vector<std::pair<Symbol, Fraction>> powers;
};

std::vector<IntegerProduct> multiply_out(const std::vector<IntegerProduct>& sum,
                                         const Linear& value, const Fraction& exponent) {
  std::vector<IntegerProduct> result;
  const auto add = [&](const IntegerProduct& base, const Fraction& coefficient,
                       const Monomial& monomial, const Fraction& power) {
    IntegerProduct product = base;
    product.coefficient = product.coefficient * coefficient;
    for (std::size_t k = 0; k < monomial.degree(); ++k) {
      product.powers.emplace_back(monomial.symbol(k), power);
    }
    result.push_back(std::move(product));
  };
  const bool single = value.constant() == 0 && value.parts().size() == 1;
  for (const IntegerProduct& base : sum) {
    if (value.is_constant()) {
      if (value.constant() == 0 && exponent.sign() > 0) continue;
      if (!exponent.is_integer()) throw OutOfBudget{"a root of an integer"};
      add(base, Fraction(value.constant()).power(exponent.numerator()), {}, 0);
    } else if (single && exponent.is_integer()) {
      const Linear::Part& part = value.parts()[0];
      add(base, Fraction(part.coefficient).power(exponent.numerator()), part.monomial, exponent);
    } else if (exponent == Fraction(1)) {
      if (value.constant() != 0) add(base, value.constant(), {}, 0);
      for (const Linear::Part& part : value.parts()) add(base, part.coefficient, part.monomial, 1);
    } else {
      throw OutOfBudget{"a power of a sum of integers"};
    }
  }
  return result;
}

}  // namespace

NormalForm Arena::substitute(const Summand& summand, const Substitution& substitution) {
  Summand result;
  result.coefficient = summand.coefficient;
  result.binders = summand.binders;
  for (const Fact& fact : summand.guards) {
    Fact replaced = fact.substitute(substitution);
    const auto truth = replaced.truth();
    if (truth == false) return {};
    if (!truth) insert(result.guards, std::move(replaced));
  }
  std::vector<IntegerProduct> integers{{}};
  for (const Factor& factor : summand.factors) {
    if (factor.atom->kind != AtomKind::kIndex) {
      result.factors.push_back({substitute(factor.atom, substitution), factor.exponent});
      continue;
    }
    Fraction exponent = factor.exponent;
    const Linear value = factor.atom->index[0].substitute(substitution);
    const bool sum = !value.is_constant() && (value.constant() != 0 || value.parts().size() > 1);
    // A positive power of a sum is that many factors.
    while (sum && exponent.is_integer() && exponent > Fraction(1)) {
      integers = multiply_out(integers, value, 1);
      exponent = exponent - 1;
    }
    if (sum && exponent.sign() < 0) {
      result.factors.push_back({reciprocal(form(value_of(value))), -exponent});
    } else {
      integers = multiply_out(integers, value, exponent);
    }
  }
  NormalForm summands;
  for (const IntegerProduct& product : integers) {
    Summand part = result;
    part.coefficient = part.coefficient * product.coefficient;
    for (const auto& [symbol, power] : product.powers) {
      part.factors.push_back({index(symbol), power});
    }
    part.factors = Arena::product(std::move(part.factors));
    summands.push_back(std::move(part));
  }
  return summands;
}

NormalForm Arena::value_of(const Linear& value) {
  NormalForm summands;
  if (value.constant() != 0) summands.push_back({value.constant(), {}, {}, {}});
  for (const Linear::Part& part : value.parts()) {
    Summand summand{part.coefficient, {}, {}, {}};
    for (std::size_t k = 0; k < part.monomial.degree(); ++k) {
      summand.factors.push_back({index(part.monomial.symbol(k)), 1});
    }
    summand.factors = product(std::move(summand.factors));
    summands.push_back(std::move(summand));
  }
  return summands;
}

Summand Arena::refreshed(const Summand& summand) {
  if (summand.binders.empty()) return summand;
  Substitution renaming;
  std::vector<Symbol> names;
  for (Symbol binder : summand.binders) {
    names.push_back(fresh());
    renaming.emplace_back(binder, Linear(names.back()));
  }
  Summand result = rename(summand, renaming);
  result.binders = std::move(names);
  return result;
}

Piece Arena::refreshed(const Piece& piece) {
  Piece result;
  Substitution renaming;
  for (Symbol binder : piece.binders) {
    result.binders.push_back(fresh());
    renaming.emplace_back(binder, Linear(result.binders.back()));
  }
  for (const Fact& fact : piece.guards) insert(result.guards, fact.substitute(renaming));
  result.body = substitute(piece.body, renaming);
  return result;
}

NormalForm Arena::open(const Form* form) {
  NormalForm summands;
  for (const Summand& summand : form->summands) summands.push_back(refreshed(summand));
  return summands;
}

}  // namespace soapstone::verifier
