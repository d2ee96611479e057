// The inputs at which a graph has values: the arguments of 1/x, √x and log must not be 0 or
// negative. A target that has no value where the source has one is wrong; one that has more changes
// the range of floats.
#pragma once

#include <span>
#include <vector>

#include "verifier/forms/summand.h"

namespace soapstone::verifier {

class Arena;
class Equality;
class Oracle;

enum class Demand : std::uint8_t { kNotZero, kNotNegative };

/// A form that decides whether a demand counts. A branch of a choice is thrown away unless the form
/// is not 0 (the first), or is 0; a power has values at more bases for some exponents.
struct Choice {
  enum class Role : std::uint8_t { kFirst, kSecond, kExponent };
  NormalForm form;
  Role role = Role::kFirst;
};

class Domain {
 public:
  /// `outer`: symbols that stand for themselves on both sides; all others in the forms are bound,
  /// within the facts.
  void require(Arena& arena, Oracle& oracle, Demand demand, const NormalForm& form,
               const FactSet& facts, std::span<const Symbol> outer,
               std::span<const Choice> choices);
  /// Every demand of this is one of the other: where that has values, this has. `is_lenient`: sums
  /// of the other are taken to be over something.
  bool demands_no_more_than(const Domain& other, bool is_lenient, Equality& equality,
                            const FactSet& context) const;
  /// Every demand of this is one of the other at some of its places.
  bool is_within(const Domain& other, Arena& arena, Oracle& oracle, Equality& equality) const;
  /// Elements of inputs that must be at least 0 for there to be a value at all.
  std::vector<const Atom*> non_negative_elements(const FactSet& context) const;
  /// Forms that must not be 0 for there to be a value at all.
  std::vector<NormalForm> never_zero(const FactSet& context) const;

 private:
  static bool is_unconditional(const Summand& demand, const FactSet& context);
  static bool is_instance(const Summand& demand, const Summand& own, Arena& arena, Oracle& oracle,
                          Equality& equality);
  bool covers(const Summand& demand, bool is_lenient, Equality& equality,
              const FactSet& context) const;

  /// Each a product of boxes: of the form that is demanded of, and of those that choices look at.
  std::vector<Summand> demands_;
  /// The same, as if the sums around them were over something: never fewer.
  std::vector<Summand> everywhere_;
};

}  // namespace soapstone::verifier
