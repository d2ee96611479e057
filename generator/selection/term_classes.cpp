// See term_classes.h. Symmetries are products of exchanges, so the variables of a term fall into
// orbits, and sorting the names within each orbit makes them canonical.
#include "generator/selection/term_classes.h"

#include <algorithm>

#include "core/base/hash.h"
#include "generator/terms/commutation.h"

namespace soapstone::generator {
namespace {

constexpr std::uint32_t kNoOrbits = 0x76543210;

unsigned orbit_of(std::uint32_t orbits, std::size_t variable) {
  return (orbits >> (4 * variable)) & 15u;
}

/// Whether every name is that of a variable of a term with these counts.
bool within(Renaming names, VariableCounts counts, VariableCounts frame) {
  std::size_t variable = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
    for (unsigned k = 0; k < counts.of(g); ++k)
      if (names.of(variable++) >= frame.of(g)) return false;
  return true;
}

/// All orders of the used names: calls `use(renaming)`, which maps (group, name) to dense numbers,
/// until it returns true.
class DenseNames {
 public:
  explicit DenseNames(std::span<const NamedTerm> operands, const TermTable& terms) {
    for (const NamedTerm& operand : operands) {
      std::size_t variable = 0;
      const VariableCounts counts = terms[operand.term].variables;
      for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
        for (unsigned k = 0; k < counts.of(g); ++k) {
          auto& names = used_[g];
          const auto name = static_cast<std::uint8_t>(operand.names.of(variable++));
          if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        }
    }
    for (auto& names : used_) std::ranges::sort(names);
  }

  bool next() {
    for (auto& names : used_)
      if (std::ranges::next_permutation(names).found) return true;
    return false;
  }

  VariableCounts counts() const {
    VariableCounts result;
    for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
      result.set(g, static_cast<unsigned>(used_[g].size()));
    return result;
  }

  /// The names of an operand's variables, as dense numbers.
  Renaming dense(Renaming names, VariableCounts counts) const {
    Renaming result;
    std::size_t variable = 0;
    for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
      for (unsigned k = 0; k < counts.of(g); ++k, ++variable) {
        const auto place = std::ranges::find(used_[g], names.of(variable)) - used_[g].begin();
        result.set(variable, static_cast<unsigned>(place));
      }
    return result;
  }

  /// The meanings of the dense numbers.
  Renaming originals() const {
    Renaming result;
    std::size_t variable = 0;
    for (const auto& names : used_)
      for (std::uint8_t name : names) result.set(variable++, name);
    return result;
  }

 private:
  std::array<std::vector<std::uint8_t>, Universe::kMostGroups> used_;
};

}  // namespace

std::uint64_t kind_of(const Application& a) {
  return core::hash_combine(core::hash_combine(a.op->hash(), a.operands.size()), a.output_index);
}

Renaming inverted(Renaming names, VariableCounts to, VariableCounts from) {
  Renaming result;
  std::size_t first_to = 0, first_from = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
    unsigned beyond = to.of(g);
    for (unsigned k = 0; k < from.of(g); ++k) {
      unsigned found = beyond;
      for (unsigned l = 0; l < to.of(g); ++l)
        if (names.of(first_to + l) == k) found = l;
      if (found == beyond) ++beyond;
      result.set(first_from + k, found);
    }
    first_to += to.of(g);
    first_from += from.of(g);
  }
  return result;
}

TermClasses::TermClasses(const Enumeration& enumeration)
    : terms_(enumeration.terms), operators_(terms_.size()), parents_(terms_.size()),
      orbits_(terms_.size(), kNoOrbits), members_(terms_.size()), makers_(terms_.size()) {
  for (TermId id = terms_.leaf_count(); id < terms_.size(); ++id) {
    int count = 1;
    for (TermId child : terms_[id].children)
      if (child != kNoTerm) count += operators_[child];
    operators_[id] = static_cast<std::uint8_t>(count);
  }
  for (const EqualPair& pair : enumeration.pairs) link(pair);
  note_symmetries(enumeration);
}

void TermClasses::link(const EqualPair& pair) {
  if (pair.representative == pair.newcomer) return;
  Parent& parent = parents_[pair.newcomer];
  if (parent.term == kNoTerm) parent = {pair.representative, pair.names};
}

std::optional<NamedTerm> TermClasses::root(TermId id) const {
  NamedTerm at{id, identity_renaming(terms_[id].variables)};
  while (parents_[at.term].term != kNoTerm) {
    const auto& [parent, names] = parents_[at.term];
    const VariableCounts below = terms_[at.term].variables;
    const VariableCounts counts = terms_[parent].variables;
    if (!within(names, counts, below)) return std::nullopt;
    at = {parent, compose(names, counts, at.names, below)};
  }
  return at;
}

void TermClasses::join_variables(TermId id, std::size_t first, std::size_t second) {
  std::uint32_t& orbits = orbits_[id];
  const unsigned a = orbit_of(orbits, first), b = orbit_of(orbits, second);
  for (std::size_t v = 0; v < kMostVariables; ++v)
    if (orbit_of(orbits, v) == std::max(a, b))
      orbits = (orbits & ~(15u << (4 * v))) | (std::min(a, b) << (4 * v));
}

void TermClasses::note_symmetries(const Enumeration& enumeration) {
  for (const EqualPair& pair : enumeration.pairs) {
    if (pair.representative != pair.newcomer) continue;
    // A pair of a term with itself exchanges two variables.
    const Renaming identity = identity_renaming(terms_[pair.newcomer].variables);
    std::vector<std::size_t> moved;
    for (std::size_t v = 0; v < terms_[pair.newcomer].variables.total(); ++v)
      if (pair.names.of(v) != identity.of(v)) moved.push_back(v);
    if (moved.size() == 2) join_variables(pair.newcomer, moved[0], moved[1]);
  }
  for (TermId id = terms_.leaf_count(); id < terms_.size(); ++id) {
    if (parents_[id].term != kNoTerm) continue;
    const VariableCounts counts = terms_[id].variables;
    const Renaming identity = identity_renaming(counts);
    std::size_t first = 0;
    for (std::size_t g = 0; g < Universe::kMostGroups; first += counts.of(g++))
      for (unsigned k = 0; k < counts.of(g); ++k)
        for (unsigned l = k + 1; l < counts.of(g); ++l) {
          Renaming exchanged = identity;
          exchanged.set(first + k, l);
          exchanged.set(first + l, k);
          if (same_up_to_commutation(terms_, {id, exchanged}, {id, identity}))
            join_variables(id, first + k, first + l);
        }
  }
}

NamedTerm TermClasses::canonical(NamedTerm named) const {
  const std::uint32_t orbits = orbits_[named.term];
  if (orbits == kNoOrbits) return named;
  const std::size_t count = terms_[named.term].variables.total();
  // Insertion sort within each orbit; there are four variables at most, as a rule.
  for (std::size_t v = 1; v < count; ++v)
    for (std::size_t w = v; w-- > 0;)
      for (std::size_t u = w + 1; u < count; ++u)
        if (orbit_of(orbits, u) == orbit_of(orbits, w) && named.names.of(u) < named.names.of(w)) {
          const unsigned a = named.names.of(u), b = named.names.of(w);
          named.names.set(u, b);
          named.names.set(w, a);
        }
  return named;
}

std::vector<Renaming> TermClasses::symmetries(TermId representative) const {
  const VariableCounts counts = terms_[representative].variables;
  std::vector<Renaming> found{identity_renaming(counts)};
  const std::uint32_t orbits = orbits_[representative];
  if (orbits == kNoOrbits) return found;
  // Closed under exchanges within orbits.
  for (std::size_t at = 0; at < found.size(); ++at)
    for (std::size_t v = 0; v < counts.total(); ++v)
      for (std::size_t w = v + 1; w < counts.total(); ++w) {
        if (orbit_of(orbits, v) != orbit_of(orbits, w)) continue;
        Renaming next = found[at];
        next.set(v, found[at].of(w));
        next.set(w, found[at].of(v));
        if (std::ranges::find(found, next) == found.end()) found.push_back(next);
      }
  return found;
}

NamedTerm TermClasses::operand(TermId term, Renaming names, std::size_t k) const {
  const Term& parent = terms_[term];
  const TermId child = parent.children[k];
  const Renaming inner =
      compose(parent.renamings[k], terms_[child].variables, names, parent.variables);
  const auto top = parents_[child].term == kNoTerm ? std::nullopt : root(child);
  if (!top) return canonical({child, inner});
  return canonical({top->term, compose(top->names, terms_[top->term].variables, inner,
                                       terms_[child].variables)});
}

std::uint64_t TermClasses::makers(TermId term, std::size_t k) const {
  const TermId child = terms_[term].children[k];
  const auto top = parents_[child].term == kNoTerm ? std::nullopt : root(child);
  return makers_[top ? top->term : child];
}

std::uint64_t TermClasses::key(ApplicationId application,
                               std::span<const NamedTerm> operands) const {
  const auto hash_of = [](const NamedTerm& t) { return core::hash_combine(t.term, t.names.bits); };
  std::array<std::uint64_t, kMostChildren> hashes{};
  for (std::size_t k = 0; k < operands.size(); ++k) hashes[k] = hash_of(operands[k]);
  if (terms_.applications()[application].commutative && hashes[1] < hashes[0])
    std::swap(hashes[0], hashes[1]);
  std::uint64_t hash = application;
  for (std::size_t k = 0; k < operands.size(); ++k) hash = core::hash_combine(hash, hashes[k]);
  return hash;
}

std::span<const TermClasses::Member> TermClasses::members(TermId representative) const {
  return members_[representative];
}

std::optional<NamedTerm> TermClasses::find(ApplicationId application,
                                           std::span<const NamedTerm> operands) const {
  DenseNames names(operands, terms_);
  std::array<NamedTerm, kMostChildren> dense;
  do {
    for (std::size_t k = 0; k < operands.size(); ++k)
      dense[k] = canonical(
          {operands[k].term, names.dense(operands[k].names, terms_[operands[k].term].variables)});
    const auto found = by_key_.find(key(application, std::span(dense).first(operands.size())));
    if (found == by_key_.end()) continue;
    const auto top = root(found->second);
    if (!top) return std::nullopt;
    return canonical({top->term, compose(top->names, terms_[top->term].variables, names.originals(),
                                         names.counts())});
  } while (names.next());
  return std::nullopt;
}

void TermClasses::add_member(TermId id) {
  const auto top = root(id);
  if (!top) return;
  const VariableCounts own = terms_[id].variables, counts = terms_[top->term].variables;
  const Renaming names = inverted(top->names, counts, own);
  if (!within(names, own, counts)) return;  // it has more variables
  makers_[top->term] |= kind_bit(kind_of(terms_.applications()[terms_[id].application]));
  std::vector<Member>& members = members_[top->term];
  std::vector<std::uint64_t> keys;
  const std::size_t arity = terms_.applications()[terms_[id].application].operands.size();
  for (const Renaming& symmetry : symmetries(top->term)) {
    const Renaming image = compose(names, own, symmetry, counts);
    std::array<NamedTerm, kMostChildren> operands;
    for (std::size_t k = 0; k < arity; ++k) operands[k] = operand(id, image, k);
    const std::uint64_t hash = key(terms_[id].application, std::span(operands).first(arity));
    if (std::ranges::find(keys, hash) != keys.end()) continue;
    keys.push_back(hash);
    members.push_back({id, image});
  }
}

void TermClasses::complete_level(int operators) {
  for (TermId id = terms_.leaf_count(); id < terms_.size(); ++id) {
    if (operators_[id] != operators) continue;
    add_member(id);
    std::array<NamedTerm, kMostChildren> operands;
    const std::size_t arity = terms_.applications()[terms_[id].application].operands.size();
    const Renaming names = identity_renaming(terms_[id].variables);
    for (std::size_t k = 0; k < arity; ++k) operands[k] = operand(id, names, k);
    by_key_.try_emplace(key(terms_[id].application, std::span(operands).first(arity)), id);
  }
}

}  // namespace soapstone::generator
