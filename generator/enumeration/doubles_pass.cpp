// Functions such as exp are random in the prime field, and inverses have no order there, so that it
// misses their laws. This pass evaluates the representatives in doubles and pairs those that agree
// there.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/tasks/tasks.h"
#include "generator/enumeration/later_passes.h"
#include "generator/terms/extension.h"

namespace soapstone::generator {
namespace {

using RealValues = ValueStore<double>;

struct Entry {
  TermId term = kNoTerm;
  Fingerprint fingerprint;
  std::uint16_t variant = 0;
  bool is_valid = false;
};

/// Terms with an operator that is so.
template <class Is>
std::vector<std::uint8_t> find_terms(const TermTable& terms, const Is& is) {
  std::vector<std::uint8_t> found(terms.size());
  for (TermId id = terms.leaf_count(); id < terms.size(); ++id) {
    found[id] = is(terms.applications()[terms[id].application]);
    for (TermId child : terms[id].children)
      if (child != kNoTerm) found[id] |= found[child];
  }
  return found;
}

/// Terms that are something else in the field: some function is random there, or what they order
/// may be inverses.
std::vector<std::uint8_t> find_inexact(const TermTable& terms) {
  std::vector<std::uint8_t> found =
      find_terms(terms, [](const Application& a) { return !a.exact; });
  const auto orders = find_terms(terms, [](const Application& a) { return a.orders; });
  const auto divides = find_terms(terms, [](const Application& a) { return a.divides; });
  for (TermId id = 0; id < terms.size(); ++id) found[id] |= orders[id] & divides[id];
  return found;
}

bool is_close(std::span<const double> a, std::span<const double> b) {
  constexpr double kTolerance = 1e-7;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(std::fabs(a[k] - b[k]) <= kTolerance * std::max(1.0, std::fabs(a[k])))) return false;
  return true;
}

/// The evidence that two tensors give on an equality.
enum class Evidence : std::uint8_t { kNone, kFor, kAgainst };

/// A difference beyond rounding is evidence against the equality. If inputs are small, so is an
/// element that is a number on one side only. Very large elements are no evidence.
Evidence compare(std::span<const double> a, std::span<const double> b, bool small) {
  constexpr double kLarge = 1e6, kTolerance = 1e-6;
  Evidence result = Evidence::kNone;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (small && std::isfinite(a[k]) != std::isfinite(b[k])) return Evidence::kAgainst;
    const double scale = std::max({1.0, std::fabs(a[k]), std::fabs(b[k])});
    if (!(scale < kLarge)) continue;
    if (std::fabs(a[k] - b[k]) > kTolerance * scale) return Evidence::kAgainst;
    if (!std::isnan(a[k]) && !std::isnan(b[k])) result = Evidence::kFor;
  }
  return result;
}

class Pass {
 public:
  Pass(Enumeration& enumeration, const VariantSpace& space, std::uint64_t seed)
      : enumeration_(enumeration), terms_(enumeration.terms), space_(space),
        values_(enumeration.terms, space, seed), inexact_(find_inexact(enumeration.terms)),
        workers_([this] { return Worker(values_, space_, terms_.universe().worlds.size()); }) {}

  void run(std::span<const std::vector<TermId>> representatives) {
    const std::size_t last = representatives.size() - 1;
    values_.reserve(terms_.size());
    for (std::size_t ops = 0; ops <= last; ++ops) {
      std::vector<TermId> wanted;
      for (TermId id : representatives[ops])
        if (ops < last || inexact_[id]) wanted.push_back(id);
      if (ops > 0 && ops + 1 < last)
        core::parallel_for(0, wanted.size(),
                           [&](std::size_t k) { values_.store(wanted[k], workers_.local().maps); });
      std::vector<Entry> entries(wanted.size());
      core::parallel_for(0, wanted.size(),
                         [&](std::size_t k) { entries[k] = entry_of(wanted[k]); });
      merge(entries);
    }
  }

 private:
  struct Worker {
    Worker(const RealValues& values, const VariantSpace& space, std::size_t worlds)
        : maps(space), fingerprinter(worlds), term(values) {}
    VariantMaps maps;
    Fingerprinter<double> fingerprinter;
    LazyValues<double> term;
    std::vector<double> operand_values;
    TermId operand_term = kNoTerm;
  };

  /// The values of a term that is not stored. One operand may not be stored either; it is computed
  /// once for neighboring terms.
  ValueView<double> load(TermId id, Worker& worker) {
    worker.term.start(id, worker.maps, [&](TermId child) {
      if (values_.contains(child)) return values_.view(child);
      if (worker.operand_term != child) {
        worker.operand_values.resize(values_.size_of(child));
        values_.compute(child, worker.operand_values.data(), worker.maps);
        worker.operand_term = child;
      }
      return values_.view_at(child, worker.operand_values.data());
    });
    return worker.term.view();
  }

  Entry entry_of(TermId id) {
    Worker& worker = workers_.local();
    EvaluatedTerm candidate;
    const bool is_stored = values_.contains(id);
    const ValueView<double> view = is_stored ? values_.view(id) : load(id, worker);
    worker.fingerprinter.run(view, terms_.type(id), space_.of(terms_[id].variables), candidate,
                             is_stored ? nullptr : &worker.term);
    const Fingerprint& f = candidate.term.fingerprint;
    return {id, f, candidate.variant, f != Fingerprint{}};
  }

  /// Finds the known term of the same fingerprint, in order; what has none is known from now on.
  void merge(std::span<const Entry> entries) {
    std::vector<std::pair<Entry, Entry>> twins;
    for (const Entry& entry : entries) {
      if (!entry.is_valid) continue;
      const auto [place, is_new] = classes_.emplace(entry.fingerprint, entry);
      if (!is_new && (inexact_[entry.term] || inexact_[place->second.term]))
        twins.emplace_back(place->second, entry);
    }
    std::vector<std::uint8_t> same(twins.size());
    core::parallel_for(0, twins.size(), [&](std::size_t k) {
      same[k] = are_close(twins[k].first, twins[k].second);
    });
    for (std::size_t k = 0; k < twins.size(); ++k) {
      const auto& [known, entry] = twins[k];
      if (same[k])
        enumeration_.pairs.push_back({known.term, entry.term,
                                      between(slots_of(known), terms_[known.term].variables,
                                              slots_of(entry), terms_[entry.term].variables),
                                      false});
    }
  }

  Renaming slots_of(const Entry& entry) const {
    return space_.of(terms_[entry.term].variables).slots(entry.variant);
  }

  bool are_close(const Entry& known, const Entry& entry) {
    RealValues::Room& room = rooms_.local();
    for (std::size_t w = 0; w < terms_.universe().worlds.size(); ++w) {
      room.clear();
      if (!is_close(values_.evaluate(known.term, slots_of(known), w, room),
                    values_.evaluate(entry.term, slots_of(entry), w, room)))
        return false;
    }
    return true;
  }

  struct FingerprintHash {
    std::size_t operator()(const Fingerprint& f) const { return f.low; }
  };

  Enumeration& enumeration_;
  const TermTable& terms_;
  const VariantSpace& space_;
  RealValues values_;
  std::vector<std::uint8_t> inexact_;
  core::PerThread<Worker> workers_;
  core::PerThread<RealValues::Room> rooms_;
  std::unordered_map<Fingerprint, Entry, FingerprintHash> classes_;
};

}  // namespace

void drop_coincidences(Enumeration& enumeration, std::size_t first, const VariantSpace& space,
                       std::uint64_t seed) {
  const TermTable& terms = enumeration.terms;
  std::vector<EqualPair>& pairs = enumeration.pairs;
  const std::vector<std::uint8_t> delicate =
      find_terms(terms, [](const Application& a) { return a.orders || a.divides || !a.exact; });
  constexpr std::array kKinds{DrawKind::kUsual,        DrawKind::kRowSigns,   DrawKind::kWide,
                              DrawKind::kWide,         DrawKind::kNegative,   DrawKind::kPositive,
                              DrawKind::kEvenNegative, DrawKind::kOddNegative};
  // The largest world has the most elements, and so shows the most signs; for one sign a tensor
  // the smallest will do.
  const auto world_of = [&](DrawKind kind) {
    return kind < DrawKind::kNegative ? Universe::kLargest : Universe::kSmallest;
  };
  core::PerThread<std::array<RealValues::Room, kKinds.size()>> rooms;
  std::vector<std::unique_ptr<const RealValues>> draws;
  for (std::size_t d = 0; d < kKinds.size(); ++d)
    draws.push_back(
        std::make_unique<const RealValues>(terms, space, seed + 1000 * (d + 1), kKinds[d]));
  std::vector<std::uint8_t> wrong(pairs.size());
  core::parallel_for(first, pairs.size(), [&](std::size_t k) {
    const auto& [a, b, names, exact] = pairs[k];
    if (!delicate[a] && !delicate[b]) return;
    // There may be no slot for variables of the representative that have no influence.
    const Renaming all = identity_renaming(terms[b].variables);
    if (!are_slots(terms.universe(), terms[a].variables, names)) return;
    auto& room = rooms.local();
    bool is_known = false;
    for (std::size_t d = 0; d < kKinds.size() && !wrong[k]; ++d) {
      const std::size_t world = world_of(kKinds[d]);
      room[d].clear();
      const Evidence evidence =
          compare(draws[d]->evaluate(a, names, world, room[d]),
                  draws[d]->evaluate(b, all, world, room[d]), kKinds[d] == DrawKind::kUsual);
      wrong[k] = evidence == Evidence::kAgainst;
      is_known |= evidence == Evidence::kFor;
    }
    wrong[k] |= !is_known;
  });
  std::size_t kept = first;
  for (std::size_t k = first; k < pairs.size(); ++k)
    if (!wrong[k]) pairs[kept++] = pairs[k];
  pairs.resize(kept);
}

void add_pairs_in_doubles(Enumeration& enumeration, const VariantSpace& space,
                          const EnumerateOptions& options,
                          std::span<const std::vector<TermId>> representatives) {
  const ApplicationTable& applications = enumeration.terms.applications();
  bool all_exact = true, orders = false, divides = false;
  for (ApplicationId id = 0; id < applications.size(); ++id) {
    all_exact &= applications[id].exact;
    orders |= applications[id].orders;
    divides |= applications[id].divides;
  }
  if (all_exact && !(orders && divides)) return;
  Pass(enumeration, space, options.seed).run(representatives);
}

}  // namespace soapstone::generator
