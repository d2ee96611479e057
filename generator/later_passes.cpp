// Full comparison of pairs, symmetries, and splits. Each pass looks at terms independently, in
// parallel, and appends what it found in the order of the terms.
#include "generator/later_passes.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "generator/commutation.h"
#include "generator/extension.h"

namespace soapstone::generator {
namespace {

using Rooms = tbb::enumerable_thread_specific<FieldValues::Room>;

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

/// Results of one split of one term.
class SplitFinder {
 public:
  SplitFinder(const Enumeration& enumeration, const FieldValues& values, const VariantSpace& space,
              const ClassTable& classes, std::span<const std::uint16_t> variants)
      : terms_(enumeration.terms), values_(values), space_(space), classes_(classes),
        variants_(variants), maps_(space), fingerprinter_(terms_.universe().worlds.size()),
        lazy_(values) {}

  struct Found {
    std::vector<NamedTerm> parts;
    std::vector<Term> results;
  };

  std::vector<Found> find(TermId whole) {
    std::vector<Found> found;
    const TypeId type = terms_.type(whole);
    const ApplicationTable& applications = terms_.applications();
    const std::span<const ApplicationId> unary = applications.find(std::span(&type, 1));
    bool is_ready = false;
    for (std::size_t k = 0; k < unary.size(); k += applications[unary[k]].output_count) {
      const std::uint32_t count = applications[unary[k]].output_count;
      if (count < 2) continue;
      if (!is_ready) load(whole);
      is_ready = true;
      if (auto split = find_parts(whole, unary.subspan(k, count)))
        found.push_back(*std::move(split));
    }
    return found;
  }

 private:
  void load(TermId whole) {
    is_lazy_ = !values_.contains(whole);
    if (is_lazy_) lazy_.start(whole, maps_);
    view_ = is_lazy_ ? lazy_.view() : values_.view(whole);
  }

  std::optional<Found> find_parts(TermId whole, std::span<const ApplicationId> outputs) {
    Found found;
    bool is_simple = true;
    const VariableCounts counts = terms_[whole].variables;
    const Renaming identity = identity_renaming(counts);
    const std::uint16_t* same = maps_.find(counts, identity, counts);
    for (ApplicationId id : outputs) {
      const Application& application = terms_.applications()[id];
      Candidate candidate;
      candidate.term.application = id;
      candidate.term.variables = counts;
      candidate.term.children[0] = whole;
      candidate.term.renamings[0] = identity;
      fingerprinter_.run(application, std::span(&view_, 1), std::span(&same, 1), space_.of(counts),
                         terms_.applications().type(application.result), candidate,
                         is_lazy_ ? &lazy_ : nullptr);
      const TermId part = classes_.find(candidate.term.fingerprint);
      if (part == kNoTerm) return std::nullopt;
      if (part >= terms_.leaf_count() && terms_[part].application == id &&
          terms_[part].children[0] == whole)
        return std::nullopt;
      is_simple &= part < terms_.leaf_count();
      found.results.push_back(candidate.term);
      found.parts.push_back({part, between(space_.of(terms_[part].variables).slots(variants_[part]),
                                           terms_[part].variables,
                                           space_.of(counts).slots(candidate.variant), counts)});
    }
    if (is_simple) return std::nullopt;
    return found;
  }

  const TermTable& terms_;
  const FieldValues& values_;
  const VariantSpace& space_;
  const ClassTable& classes_;
  std::span<const std::uint16_t> variants_;
  VariantMaps maps_;
  Fingerprinter<std::uint64_t> fingerprinter_;
  LazyValues<std::uint64_t> lazy_;
  bool is_lazy_ = false;
  ValueView<std::uint64_t> view_;
};

}  // namespace

void drop_wrong_pairs(Enumeration& enumeration, const FieldValues& values,
                      const VariantSpace& space, std::span<const std::uint16_t> variants) {
  const TermTable& terms = enumeration.terms;
  std::vector<EqualPair>& pairs = enumeration.pairs;
  std::vector<char> wrong(pairs.size());
  const auto slots = [&](TermId id) { return space.of(terms[id].variables).slots(variants[id]); };
  Rooms rooms;
  tbb::parallel_for(std::size_t{0}, pairs.size(), [&](std::size_t k) {
    const auto& [a, b, names, exact] = pairs[k];
    // The newcomer keeps its names where it can: its largest operand is that of its neighbours.
    const bool named = are_slots(terms.universe(), terms[a].variables, names);
    // The fingerprint is of all worlds; the smallest shows most that it has not seen.
    wrong[k] =
        !equal_values(values, 1, a, named ? names : slots(a), b,
                      named ? identity_renaming(terms[b].variables) : slots(b), rooms.local());
  });
  std::size_t kept = 0;
  for (std::size_t k = 0; k < pairs.size(); ++k)
    if (!wrong[k]) pairs[kept++] = pairs[k];
  pairs.resize(kept);
}

void add_symmetric_pairs(Enumeration& enumeration, const FieldValues& values, const VariantSpace&,
                         std::span<const TermId> terms) {
  std::vector<std::vector<EqualPair>> found(terms.size());
  Rooms rooms;
  tbb::parallel_for(std::size_t{0}, terms.size(), [&](std::size_t k) {
    found[k] = exchanges_of(enumeration, values, terms[k], rooms.local());
  });
  for (const auto& pairs : found)
    enumeration.pairs.insert(enumeration.pairs.end(), pairs.begin(), pairs.end());
}

void add_split_pairs(Enumeration& enumeration, const FieldValues& values, const VariantSpace& space,
                     const ClassTable& classes,
                     std::span<const std::vector<TermId>> representatives,
                     std::span<const std::uint16_t> variants) {
  if (!enumeration.terms.applications().vocabulary().has("split")) return;
  std::vector<TermId> wholes;
  for (std::size_t ops = 1; ops + 1 < representatives.size(); ++ops)
    wholes.insert(wholes.end(), representatives[ops].begin(), representatives[ops].end());
  std::vector<std::vector<SplitFinder::Found>> found(wholes.size());
  tbb::enumerable_thread_specific<SplitFinder> finders(
      [&] { return SplitFinder(enumeration, values, space, classes, variants); });
  tbb::parallel_for(std::size_t{0}, wholes.size(),
                    [&](std::size_t k) { found[k] = finders.local().find(wholes[k]); });
  for (auto& splits : found)
    for (auto& split : splits) {
      SplitPair pair{std::move(split.parts), {}};
      for (const Term& term : split.results) pair.results.push_back(enumeration.terms.add(term));
      enumeration.splits.push_back(std::move(pair));
    }
}

}  // namespace soapstone::generator
