// All ways to put the variables of a term into the slots of the inputs' pool. Two terms are equal
// up to the names of their variables when the sets of values that they take over all variants are.
// A few variants that put the same tensor for several variables tell the variables apart.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/terms/term.h"

namespace soapstone::generator {

/// For one combination of variable counts.
class Variants {
 public:
  Variants(const Universe& universe, VariableCounts counts);
  std::size_t size() const { return slots_.size(); }
  /// The slot (within its group) of each variable.
  Renaming slots(std::size_t variant) const { return slots_[variant]; }
  /// Precondition: it is one of them.
  std::uint16_t find(Renaming slots) const;
  /// Variant 0 puts variable k of a group into slot k; this one puts `variable` elsewhere.
  std::uint16_t replaced(std::size_t variable) const { return replaced_[variable]; }
  std::size_t variable_count() const { return replaced_.size(); }
  /// alike(): all variables stand for the first tensor of their groups. all_alike_but(): all but
  /// one do.
  std::uint16_t alike() const { return alike_; }
  std::uint16_t all_alike_but(std::size_t variable) const { return marked_[variable]; }
  /// The group of a variable, and whether it is the only one of it.
  std::uint8_t group(std::size_t variable) const { return groups_[variable]; }
  bool is_alone(std::size_t variable) const { return alone_ >> variable & 1u; }
  bool are_all_alone() const { return alone_ + 1 == 1u << replaced_.size(); }
  /// All variants that put the variables of the mask into the first slots of their groups, each
  /// into another, and the others, which have no influence, behind them in order.
  std::span<const std::uint16_t> arrangements(std::uint32_t mask) const {
    return arrangements_[mask];
  }

 private:
  void note_replacements(const Universe& universe, VariableCounts counts);
  void note_arrangements(VariableCounts counts);
  std::uint16_t add(Renaming slots);
  void make_table();
  std::vector<Renaming> slots_;  // different tensors for all variables first
  std::size_t injective_ = 0;    // so many
  std::vector<std::uint16_t> replaced_, marked_;
  std::uint16_t alike_ = 0;
  std::vector<std::uint8_t> groups_;
  std::uint32_t alone_ = 0;                               // by variable
  std::vector<std::vector<std::uint16_t>> arrangements_;  // by mask
  std::vector<std::uint16_t> table_;                      // open addressing by slots; 0xffff: free
};

class VariantSpace {
 public:
  /// The variants of terms with up to `most_variables` variables.
  VariantSpace(const Universe& universe, unsigned most_variables);
  bool contains(VariableCounts counts) const { return by_counts_.contains(counts.bits); }
  const Variants& of(VariableCounts counts) const { return by_counts_.at(counts.bits); }

  /// The variant of a child for each variant of its parent.
  std::vector<std::uint16_t> child_variants(VariableCounts child, Renaming renaming,
                                            VariableCounts parent) const;

 private:
  std::unordered_map<std::uint32_t, Variants> by_counts_;
};

/// A renaming that takes variables in slots `from` to variables in slots `to`: of the terms whose
/// counts are given. Variables whose slot is not used there get names beyond the others.
Renaming between(Renaming from, VariableCounts from_counts, Renaming to, VariableCounts to_counts);

/// Whether the names of a term's variables are slots that there are.
bool are_slots(const Universe& universe, VariableCounts counts, Renaming names);

}  // namespace soapstone::generator
