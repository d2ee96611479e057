// Full comparison of pairs, and symmetries. Each pass looks at terms independently, in
// parallel, and appends what it found in the order of the terms.
#include "generator/enumeration/later_passes.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "core/tasks/tasks.h"
#include "generator/terms/commutation.h"
#include "generator/terms/extension.h"

namespace soapstone::generator {
namespace {

using Rooms = core::PerThread<FieldValues::Room>;

bool equal_values(const FieldValues& values, std::size_t worlds, TermId a, Renaming a_slots,
                  TermId b, Renaming b_slots, FieldValues::Room& room) {
  for (std::size_t w = 0; w < worlds; ++w) {
    room.clear();
    if (!std::ranges::equal(values.evaluate(a, a_slots, w, room),
                            values.evaluate(b, b_slots, w, room)))
      return false;
  }
  return true;
}

/// Exchanges of two variables that leave the term as it is, and that it does not show.
std::vector<EqualPair> exchanges_of(const Enumeration& enumeration, const FieldValues& values,
                                    TermId id, FieldValues::Room& room) {
  std::vector<EqualPair> found;
  const TermTable& terms = enumeration.terms;
  const VariableCounts counts = terms[id].variables;
  const Renaming identity = identity_renaming(counts);
  const bool is_single = terms.operator_count(id) == 1;
  std::size_t first = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; first += counts.of(g++))
    for (unsigned k = 0; k < counts.of(g); ++k)
      for (unsigned l = k + 1; l < counts.of(g); ++l) {
        Renaming names = identity;
        names.set(first + k, l);
        names.set(first + l, k);
        if (!is_single && same_up_to_commutation(terms, {id, names}, {id, identity})) continue;
        if (equal_values(values, terms.universe().worlds.size(), id, identity, id, names, room))
          found.push_back({id, id, names, true});
      }
  return found;
}

}  // namespace

void drop_wrong_pairs(Enumeration& enumeration, std::size_t first, const FieldValues& values,
                      const VariantSpace& space, std::span<const std::uint16_t> variants) {
  const TermTable& terms = enumeration.terms;
  std::vector<EqualPair>& pairs = enumeration.pairs;
  std::vector<std::uint8_t> wrong(pairs.size());
  const auto slots = [&](TermId id) { return space.of(terms[id].variables).slots(variants[id]); };
  Rooms rooms;
  core::parallel_for(first, pairs.size(), [&](std::size_t k) {
    const auto& [a, b, names, exact] = pairs[k];
    // The newcomer keeps its names where it can: its largest operand is that of its neighbors.
    const bool named = are_slots(terms.universe(), terms[a].variables, names);
    // The fingerprint is of all worlds; the smallest shows most that it has not seen.
    wrong[k] =
        !equal_values(values, 1, a, named ? names : slots(a), b,
                      named ? identity_renaming(terms[b].variables) : slots(b), rooms.local());
  });
  std::size_t kept = first;
  for (std::size_t k = first; k < pairs.size(); ++k)
    if (!wrong[k]) pairs[kept++] = pairs[k];
  pairs.resize(kept);
}

void pair_dropped_terms(Enumeration& enumeration, std::span<const EqualPair> paired,
                        const FieldValues& values, const VariantSpace& space,
                        std::span<const std::uint16_t> variants, std::uint64_t seed) {
  const TermTable& terms = enumeration.terms;
  std::vector<EqualPair>& pairs = enumeration.pairs;
  const auto slots = [&](TermId id) { return space.of(terms[id].variables).slots(variants[id]); };
  std::vector<std::uint8_t> is_paired(terms.size());
  const auto note_paired = [&](std::size_t first) {
    for (std::size_t k = first; k < pairs.size(); ++k) is_paired[pairs[k].newcomer] = 1;
  };
  note_paired(0);
  std::map<TermId, std::vector<TermId>> groups;  // by representative
  for (const EqualPair& pair : paired)
    if (!is_paired[pair.newcomer]) groups[pair.representative].push_back(pair.newcomer);
  // The first of each group is its representative; what is not equal to that makes a new group.
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds && !groups.empty(); ++round) {
    const std::size_t first = pairs.size();
    for (const auto& [before, group] : groups)
      for (TermId id : std::span(group).subspan(1))
        pairs.push_back(
            {group[0], id,
             between(slots(group[0]), terms[group[0]].variables, slots(id), terms[id].variables),
             true});
    drop_wrong_pairs(enumeration, first, values, space, variants);
    drop_coincidences(enumeration, first, space, seed);
    note_paired(first);
    for (auto group = groups.begin(); group != groups.end();) {
      group->second.erase(group->second.begin());
      std::erase_if(group->second, [&](TermId id) { return is_paired[id] != 0; });
      group = group->second.size() < 2 ? groups.erase(group) : std::next(group);
    }
  }
}

void add_symmetric_pairs(Enumeration& enumeration, const FieldValues& values, const VariantSpace&,
                         std::span<const TermId> terms) {
  std::vector<std::vector<EqualPair>> found(terms.size());
  Rooms rooms;
  core::parallel_for(0, terms.size(), [&](std::size_t k) {
    found[k] = exchanges_of(enumeration, values, terms[k], rooms.local());
  });
  for (const auto& pairs : found)
    enumeration.pairs.insert(enumeration.pairs.end(), pairs.begin(), pairs.end());
}

}  // namespace soapstone::generator
