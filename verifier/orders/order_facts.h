// Inequalities that follow from given ones between forms, and whether they contradict each other.
#pragma once

#include <vector>

#include "verifier/laws/laws.h"
#include "verifier/orders/axioms.h"

namespace soapstone::verifier {

/// form ≥ 0, or > 0.
struct Condition {
  NormalForm form;
  bool strict = false;
};

class OrderFacts {
 public:
  OrderFacts(Laws& laws, const FactSet& context) : laws_(laws), context_(context) {}

  /// Are there certainly no values of the inputs for which all conditions hold? Takes products of
  /// atoms for unknowns, of which at most the sign is known.
  bool contradict(const std::vector<Condition>& conditions);
  /// The same, knowing more: axioms of functions, that a maximum is no less than what it is over,
  /// and products of all these, which are not negative where their factors are not.
  bool contradict_thoroughly(const std::vector<Condition>& conditions);
  /// Maxima that occur in the form are no less than elements that occur in it.
  std::vector<Condition> elements(const NormalForm& form);

 private:
  class Table;
  std::vector<Condition> consequences(const std::vector<Condition>& conditions);
  void add_axioms(const NormalForm& argument, const NormalForm& value, ops::Function function,
                  std::vector<Condition>& out);
  void add_elements(const NormalForm& whole, const OpenPiece& piece,
                    const std::vector<const Atom*>& reads, std::vector<Condition>& out);
  void add_consequences(const std::vector<Condition>& of, std::vector<const Atom*>& atoms,
                        std::vector<Condition>& out);
  NormalForm power(const NormalForm& base, int exponent);

  Laws& laws_;
  const FactSet& context_;
};

}  // namespace soapstone::verifier
