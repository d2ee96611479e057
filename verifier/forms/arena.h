// Owns atoms and forms, and gives equal ones one address.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "verifier/forms/summand.h"

namespace soapstone::verifier {

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
  const Form* form(NormalForm summands);

  /// A total order of atoms that does not depend on addresses.
  static bool less(const Atom* a, const Atom* b);
  /// Sorts, adds exponents of equal atoms, drops exponent 0.
  static std::vector<Factor> product(std::vector<Factor> factors);

  /// The height of a canonical name; 0 for all others.
  static std::uint32_t height_of_name(Symbol symbol) {
    const bool canonical = symbol.id >= kFirstCanonical && symbol.id < kFirstFresh;
    return canonical ? (symbol.id - kFirstCanonical) / kPerHeight : 0;
  }
  static std::uint64_t hash(const Summand& summand);
  /// A hash of the summand without regard to coefficient, indices and guards.
  static std::uint64_t signature(const Summand& summand);
  static std::vector<Symbol> free_symbols(const Summand& summand);
  static std::uint32_t height(const Summand& summand);

  /// Replaces free symbols. Binders inside are renamed where a value would be captured. Integer
  /// values that become sums (kIndex atoms) are multiplied out into several summands.
  NormalForm substitute(const Summand& summand, const Substitution& substitution);
  const Form* substitute(const Form* form, const Substitution& substitution);
  /// An integer as a sum of products of kIndex atoms.
  NormalForm value_of(const Linear& value);
  /// The summand with fresh binders.
  Summand refreshed(const Summand& summand);
  Piece refreshed(const Piece& piece);
  /// The summands of a form with fresh binders, ready to be multiplied with others.
  NormalForm open(const Form* form);

 private:
  static constexpr std::uint32_t kFirstCanonical = core::Symbol::kFirstIndex + (1U << 29);
  static constexpr std::uint32_t kFirstFresh = core::Symbol::kFirstIndex + (1U << 30);
  static constexpr std::uint32_t kPerHeight = 256;

  static constexpr std::size_t kMaxAtoms = 200'000;
  /// Visits of atoms, while symbols are replaced. An atom that is read twice is visited twice, so
  /// nested ones are visited exponentially often.
  static constexpr std::uint64_t kMaxVisits = 20'000'000;

  const Atom* intern(Atom atom);
  static std::uint32_t free_height(const NormalForm& summands, std::uint32_t height);
  /// The summand with the canonical binders of that height, in order of first use.
  Summand canonical(const Summand& summand, std::uint32_t height);
  /// Precondition: every value is a symbol.
  Summand rename(const Summand& summand, const Substitution& renaming);
  const Atom* substitute(const Atom* atom, const Substitution& substitution);
  static bool captures(const Substitution& substitution, std::uint32_t height);

  std::deque<Atom> atoms_;
  std::deque<Form> forms_;
  std::unordered_multimap<std::uint64_t, const Atom*> atom_index_;
  std::unordered_multimap<std::uint64_t, const Form*> form_index_;
  std::uint32_t next_fresh_ = 0;
  std::uint64_t visits_ = 0;
};

}  // namespace soapstone::verifier
