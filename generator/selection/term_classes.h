// Classes of equal terms as the enumeration found them, for terms of fewer operators than a given
// number: the members of a class, their names for its variables, and the class that an operator on
// classes belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/enumeration/enumerate.h"

namespace soapstone::generator {

/// Operator, number of operands and number of the output, as a number.
std::uint64_t kind_of(const Application& application);
/// One of 64; kinds may share one.
inline std::uint64_t kind_bit(std::uint64_t kind) { return std::uint64_t{1} << (kind >> 58); }

/// Classes of terms. Inputs are named as (group, index) in some frame of names; names beyond a
/// term's own variables stand for inputs that have no influence.
class TermClasses {
 public:
  explicit TermClasses(const Enumeration& enumeration);

  const TermTable& terms() const { return terms_; }
  int operators(TermId id) const { return operators_[id]; }

  /// The representative with its variables in names of the term's. None if it has a variable that
  /// the term lacks.
  std::optional<NamedTerm> root(TermId id) const;
  /// The canonical renaming: the least of those that the term's symmetries make equal.
  /// Precondition: the term is a representative.
  NamedTerm canonical(NamedTerm named) const;
  /// Every way to exchange variables that leaves a representative equal to itself, the identity
  /// included: new names of its variables.
  std::vector<Renaming> symmetries(TermId representative) const;

  /// Operand k of a term under these names, canonical. Precondition: its class is complete.
  NamedTerm operand(TermId term, Renaming names, std::size_t k) const;
  /// The same for all applications that differ in the order of operands that commute.
  std::uint64_t key(ApplicationId application, std::span<const NamedTerm> operands) const;

  /// One of the terms of a class, its variables in names of the representative's.
  struct Member {
    TermId term = kNoTerm;
    Renaming names;
  };
  /// Members of the class among complete levels, those of fewer operators first. If the
  /// representative is a leaf, the leaf itself is not listed.
  std::span<const Member> members(TermId representative) const;
  /// Bits of the kinds of all members. If a kind's bit is missing, no member is of that kind.
  std::uint64_t makers(TermId representative) const { return makers_[representative]; }
  /// Bits of the kinds of operand k of a term.
  std::uint64_t makers(TermId term, std::size_t k) const;
  /// The class of an operator on classes, among complete levels.
  std::optional<NamedTerm> find(ApplicationId application,
                                std::span<const NamedTerm> operands) const;
  /// Takes in all terms of so many operators. Call for 1, 2, … in turn.
  void complete_level(int operators);

 private:
  struct Parent {
    TermId term = kNoTerm;
    Renaming names;
  };
  void link(const EqualPair& pair);
  void note_symmetries(const Enumeration& enumeration);
  void join_variables(TermId id, std::size_t first, std::size_t second);
  void add_member(TermId id);

  const TermTable& terms_;
  std::vector<std::uint8_t> operators_;
  std::vector<Parent> parents_;  ///< By term; none for a representative.
  /// By term, 4 bits a variable: the smallest variable that each may be exchanged with.
  std::vector<std::uint32_t> orbits_;
  std::vector<std::vector<Member>> members_;  ///< By representative.
  std::vector<std::uint64_t> makers_;         ///< By representative.
  std::unordered_map<std::uint64_t, TermId> by_key_;
};

/// Variables of `from` in names of `to`, given those of `to` in names of `from`; the rest get names
/// beyond those of `to`.
Renaming inverted(Renaming names, VariableCounts to, VariableCounts from);

}  // namespace soapstone::generator
