// The normal form of an output element: a sum of summands, each a coefficient times guards, summed
// over bound integers, times powers of atoms. Atoms are interned: equal atoms are the same object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/language/functions.h"
#include "verifier/integers/fraction.h"
#include "verifier/integers/linear.h"

namespace soapstone::verifier {

struct Atom;
struct Form;

struct Factor {
  const Atom* atom = nullptr;
  Fraction exponent = 1;
  bool operator==(const Factor&) const = default;
};

/// coefficient · Σ over all integers of the binders · [guards] · Π factors.
/// Ranges of binders are guards like any other.
struct Summand {
  Fraction coefficient = 1;
  FactSet guards;
  std::vector<Symbol> binders;
  std::vector<Factor> factors;  ///< Sorted by the order of Arena::less, exponents not 0.
  bool operator==(const Summand&) const = default;
};
/// A sum. Empty: zero.
using NormalForm = std::vector<Summand>;

enum class AtomKind : std::uint8_t {
  kRead,        ///< An element of a rule input.
  kIndex,       ///< The value of an integer symbol.
  kNumber,      ///< A positive number whose fraction is too long to be computed with.
  kApply,       ///< A function of normal forms.
  kReciprocal,  ///< 1 / normal form that is more than one product.
  kRounded,     ///< The floating-point number nearest to a normal form.
  kWrapped,     ///< The integer of some bits that a normal form becomes.
  kMax,         ///< The largest over all pieces.
};

/// One set of values a maximum is taken over.
struct Piece {
  std::vector<Symbol> binders;
  FactSet guards;
  const Form* body = nullptr;
  bool operator==(const Piece&) const = default;
};

struct Atom {
  AtomKind kind = AtomKind::kRead;
  std::uint32_t tensor = 0;                       // kRead; kRounded, kWrapped: the format
  Fraction number = 0;                            // kNumber
  std::vector<Linear> index;                      // kRead; kIndex: the symbol
  ops::Function function = ops::Function::kRelu;  // kApply
  std::vector<const Form*> arguments;             // kApply, kReciprocal, kRounded, kWrapped
  std::vector<Piece> pieces;                      // kMax

  // Derived, filled in by the arena.
  std::uint64_t hash = 0;
  std::uint64_t signature = 0;  ///< Without indices and guards: equal for atoms that may match.
  std::uint32_t height = 0;     ///< The largest of all binders inside.
  std::uint32_t ordinal = 0;    ///< In the order of interning; settles ties.
  std::vector<Symbol> free_symbols;  ///< Sorted.
};

/// A normal form inside an atom: binders named canonically by height, summands in a fixed order.
struct Form {
  NormalForm summands;
  std::uint64_t hash = 0;
  std::uint64_t signature = 0;
  std::uint32_t height = 0;
  std::vector<Symbol> free_symbols;
};

inline bool has(std::span<const Symbol> symbols, Symbol symbol) {
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}
/// Like summands added up.
NormalForm collected(NormalForm summands);
NormalForm scaled(NormalForm summands, const Fraction& factor);

}  // namespace soapstone::verifier
