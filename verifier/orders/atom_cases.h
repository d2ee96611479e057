// Which atom of a form to decide first, and the cases in which its value is known: a maximum is one
// of the values that it is over, an element is a number t ≥ 0 or −t.
#pragma once

#include <vector>

#include "verifier/orders/order_facts.h"

namespace soapstone::verifier {

/// The value that an atom has where all conditions hold.
struct Case {
  std::vector<Condition> conditions;
  const Atom* atom = nullptr;
  NormalForm value;
};

class AtomCases {
 public:
  /// Both live longer.
  AtomCases(Laws& laws, const FactSet& context) : laws_(laws), context_(context) {}

  /// The innermost atom with cases that has the same value throughout. Null: there is none.
  const Atom* decidable(const NormalForm& form);
  /// Precondition: decidable() has found the atom. The cases leave nothing out; they may overlap.
  std::vector<Case> cases_of(const Atom& atom);
  /// The element of an input is at least 0, or at most.
  std::vector<Case> signs_of(const Atom& element);

 private:
  bool is_present(const Piece& piece);
  bool is_decidable(const Atom& atom);
  void note_decidable(const NormalForm& form, const std::vector<Symbol>& bound, const Atom*& best);
  std::vector<NormalForm> values_of_maximum(const Atom& atom);
  std::vector<Case> cases_of_function(const Atom& atom);

  Laws& laws_;
  const FactSet& context_;
};

/// Elements with one value throughout, of any sign, that stand inside a function or a maximum.
void collect_elements(const NormalForm& form, std::vector<const Atom*>& found);

}  // namespace soapstone::verifier
