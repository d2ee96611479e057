// The normal form of an output element: a sum of terms, each a coefficient times guards, summed
// over bound integers, times powers of atoms. Atoms are interned: equal atoms are the same object.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
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
struct Term {
  Fraction coefficient = 1;
  FactSet guards;
  std::vector<Symbol> binders;
  std::vector<Factor> factors;  ///< Sorted by the order of Arena::less, exponents not 0.
  bool operator==(const Term&) const = default;
};
/// A sum. Empty: zero.
using NormalForm = std::vector<Term>;

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

/// A normal form inside an atom: binders named canonically by height, terms in a fixed order.
struct Form {
  NormalForm terms;
  std::uint64_t hash = 0;
  std::uint64_t signature = 0;
  std::uint32_t height = 0;
  std::vector<Symbol> free_symbols;
};

/// Owns and interns the atoms and forms of one proof.
class Arena {
 public:
  /// A bound or free variable that nothing else is called.
  Symbol fresh() { return {kFirstFresh + next_fresh_++}; }
  /// Gives back all fresh symbols since the mark; nothing that is kept may mention them.
  std::uint32_t fresh_mark() const { return next_fresh_; }
  void release_fresh(std::uint32_t mark) { next_fresh_ = mark; }
  /// Not a size: a name that this arena gave.
  static bool is_variable(Symbol symbol) { return symbol.id >= kFirstCanonical; }

  const Atom* read(std::uint32_t tensor, std::vector<Linear> index);
  const Atom* index(Symbol symbol);
  /// The number, as a product of a sign and an atom if its fraction is long.
  NormalForm number(const Fraction& value);
  const Atom* apply(ops::Function function, std::vector<const Form*> arguments);
  const Atom* reciprocal(const Form* argument);
  /// `format` tells kinds of rounding apart.
  const Atom* rounded(const Form* argument, std::uint32_t format);
  const Atom* wrapped(const Form* argument, std::uint32_t format);
  /// Pieces in any order; duplicates count once.
  const Atom* maximum(std::vector<Piece> pieces);
  /// The same pieces with canonical binders.
  std::vector<Piece> canonical_pieces(std::vector<Piece> pieces);
  const Form* form(NormalForm terms);

  /// A total order of atoms that does not depend on addresses.
  static bool less(const Atom* a, const Atom* b);
  /// Sorts, adds exponents of equal atoms, drops exponent 0.
  static std::vector<Factor> product(std::vector<Factor> factors);

  /// Of a canonical name; 0 for all others.
  static std::uint32_t height_of_name(Symbol symbol) {
    const bool canonical = symbol.id >= kFirstCanonical && symbol.id < kFirstFresh;
    return canonical ? (symbol.id - kFirstCanonical) / kPerHeight : 0;
  }
  static std::uint64_t hash(const Term& term);
  /// Of a term without regard to coefficient, indices and guards.
  static std::uint64_t signature(const Term& term);
  static std::vector<Symbol> free_symbols(const Term& term);
  static std::uint32_t height(const Term& term);

  /// Replaces free symbols. Binders inside are renamed where a value would be captured. Integer
  /// values that become sums (kIndex atoms) are multiplied out into several terms.
  NormalForm substitute(const Term& term, const Substitution& substitution);
  const Form* substitute(const Form* form, const Substitution& substitution);
  /// An integer as a sum of products of kIndex atoms.
  NormalForm value_of(const Linear& value);
  /// The term with fresh binders.
  Term refreshed(const Term& term);
  Piece refreshed(const Piece& piece);
  /// The terms of a form with fresh binders, ready to be multiplied with others.
  NormalForm open(const Form* form);

 private:
  static constexpr std::uint32_t kFirstCanonical = core::Symbol::kFirstIndex + (1U << 29);
  static constexpr std::uint32_t kFirstFresh = core::Symbol::kFirstIndex + (1U << 30);
  static constexpr std::uint32_t kPerHeight = 256;

  static constexpr std::size_t kMaxAtoms = 200'000;

  const Atom* intern(Atom atom);
  static std::uint32_t free_height(const NormalForm& terms, std::uint32_t height);
  /// The term with the canonical binders of that height, in order of first use.
  Term canonical(const Term& term, std::uint32_t height);
  /// Precondition: every value is a symbol.
  Term rename(const Term& term, const Substitution& renaming);
  const Atom* substitute(const Atom* atom, const Substitution& substitution);
  static bool captures(const Substitution& substitution, std::uint32_t height);

  std::deque<Atom> atoms_;
  std::deque<Form> forms_;
  std::unordered_multimap<std::uint64_t, const Atom*> atom_index_;
  std::unordered_multimap<std::uint64_t, const Form*> form_index_;
  std::uint32_t next_fresh_ = 0;
};

/// Like terms added up.
NormalForm collected(NormalForm terms);
NormalForm scaled(NormalForm terms, const Fraction& factor);
std::string to_string(const NormalForm& form);

}  // namespace soapstone::verifier
