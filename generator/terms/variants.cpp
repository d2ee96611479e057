// Enumerates injections and numbers them.
#include "generator/terms/variants.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/base/hash.h"

namespace soapstone::generator {
namespace {

/// Extends `sofar` by slots for the variables of group `g` and the groups after it.
void add_injections(const Universe& universe, VariableCounts counts, std::size_t g, unsigned k,
                    std::size_t variable, unsigned used, Renaming sofar,
                    std::vector<Renaming>& found) {
  if (g == universe.groups.size()) {
    found.push_back(sofar);
    return;
  }
  if (k == counts.of(g))
    return add_injections(universe, counts, g + 1, 0, variable, 0, sofar, found);
  for (unsigned slot = 0; slot < universe.groups[g].slots(); ++slot) {
    if (used >> slot & 1u) continue;
    sofar.set(variable, slot);
    add_injections(universe, counts, g, k + 1, variable + 1, used | 1u << slot, sofar, found);
  }
}

void add_counts(const Universe& universe, std::size_t g, unsigned left, VariableCounts sofar,
                std::vector<VariableCounts>& found) {
  if (g == universe.groups.size()) {
    found.push_back(sofar);
    return;
  }
  for (unsigned n = 0; n <= std::min<unsigned>(left, universe.groups[g].count); ++n) {
    sofar.set(g, n);
    add_counts(universe, g + 1, left - n, sofar, found);
  }
}

}  // namespace

Variants::Variants(const Universe& universe, VariableCounts counts) {
  add_injections(universe, counts, 0, 0, 0, 0, {}, slots_);
  injective_ = slots_.size();
  note_replacements(universe, counts);
  CHECK(slots_.size() < 0xffff, "too many variables in a term");
  note_arrangements(counts);
}

void Variants::note_replacements(const Universe& universe, VariableCounts counts) {
  make_table();
  const Renaming same{};
  alike_ = add(same);
  std::size_t variable = 0;
  for (std::size_t g = 0; g < universe.groups.size(); ++g)
    for (unsigned k = 0; k < counts.of(g); ++k, ++variable) {
      Renaming other = same, slots = slots_[0];
      other.set(variable, 1);
      marked_.push_back(add(other));
      slots.set(variable, universe.groups[g].slots() - 1u);
      replaced_.push_back(find(slots));
      groups_.push_back(static_cast<std::uint8_t>(g));
      alone_ |= std::uint32_t{counts.of(g) == 1} << variable;
    }
}

void Variants::make_table() {
  std::size_t capacity = 4;
  while (capacity < 2 * slots_.size()) capacity *= 2;
  table_.assign(capacity, 0xffff);
  for (std::size_t v = 0; v < slots_.size(); ++v) {
    std::size_t at = core::hash_mix(slots_[v].bits + 1) & (capacity - 1);
    while (table_[at] != 0xffff) at = (at + 1) & (capacity - 1);
    table_[at] = static_cast<std::uint16_t>(v);
  }
}

std::uint16_t Variants::add(Renaming slots) {
  const auto known = std::find(slots_.begin(), slots_.end(), slots);
  if (known != slots_.end()) return static_cast<std::uint16_t>(known - slots_.begin());
  slots_.push_back(slots);
  make_table();
  return static_cast<std::uint16_t>(slots_.size() - 1);
}

void Variants::note_arrangements(VariableCounts counts) {
  arrangements_.resize(std::size_t{1} << replaced_.size());
  for (std::uint32_t mask = 0; mask < arrangements_.size(); ++mask)
    for (std::size_t v = 0; v < injective_; ++v) {
      bool fits = true;
      std::size_t variable = 0;
      for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
        const auto of_group = mask >> variable & ((1u << counts.of(g)) - 1);
        auto behind = static_cast<unsigned>(std::popcount(of_group));
        const unsigned relevant = behind;
        for (unsigned k = 0; k < counts.of(g); ++k, ++variable) {
          const unsigned slot = slots_[v].of(variable);
          fits &= (mask >> variable & 1u) != 0 ? slot < relevant : slot == behind++;
        }
      }
      if (fits) arrangements_[mask].push_back(static_cast<std::uint16_t>(v));
    }
}

std::uint16_t Variants::find(Renaming slots) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = core::hash_mix(slots.bits + 1) & mask;
  while (slots_[table_[at]] != slots) at = (at + 1) & mask;
  return table_[at];
}

VariantSpace::VariantSpace(const Universe& universe, unsigned most_variables) {
  std::vector<VariableCounts> counts;
  add_counts(universe, 0, most_variables, {}, counts);
  for (VariableCounts c : counts) by_counts_.emplace(c.bits, Variants(universe, c));
}

std::vector<std::uint16_t> VariantSpace::child_variants(VariableCounts child, Renaming renaming,
                                                        VariableCounts parent) const {
  const Variants &inner = of(child), &outer = of(parent);
  std::vector<std::uint16_t> result(outer.size());
  for (std::size_t v = 0; v < result.size(); ++v)
    result[v] = inner.find(compose(renaming, child, outer.slots(v), parent));
  return result;
}

Renaming between(Renaming from, VariableCounts from_counts, Renaming to, VariableCounts to_counts) {
  Renaming result;
  std::size_t variable = 0, first = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
    unsigned fresh = to_counts.of(g);
    for (unsigned k = 0; k < from_counts.of(g); ++k, ++variable) {
      unsigned name = 0;
      while (name < to_counts.of(g) && to.of(first + name) != from.of(variable)) ++name;
      result.set(variable, name < to_counts.of(g) ? name : fresh++);
    }
    first += to_counts.of(g);
  }
  return result;
}

bool are_slots(const Universe& universe, VariableCounts counts, Renaming names) {
  std::size_t variable = 0;
  for (std::size_t g = 0; g < universe.groups.size(); ++g)
    for (unsigned k = 0; k < counts.of(g); ++k)
      if (names.of(variable++) >= universe.groups[g].slots()) return false;
  return true;
}

}  // namespace soapstone::generator
