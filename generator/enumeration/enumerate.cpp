// The levels: prepare the applications, do the tiles in parallel, merge them in order, keep the
// values of new representatives. A merge takes a batch of tiles at a time, so that the candidates
// of a level never lie in memory together.
#include "generator/enumeration/enumerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/hash.h"
#include "core/tasks/tasks.h"
#include "generator/enumeration/later_passes.h"
#include "generator/enumeration/tiles.h"
#include "generator/terms/class_table.h"
#include "generator/terms/commutation.h"

namespace soapstone::generator {
namespace {

using core::Result;
using core::Status;

constexpr std::size_t kTilesPerBatch = 64;
/// With many ranks there are more: an exchange waits for the slowest.
constexpr std::size_t kTilesPerBatchAndRank = 8;
/// Drivers of a tile: those that are combined with leaves alone have few extensions each.
constexpr std::uint32_t kLargestDrivers = 128, kOtherDrivers = 4;

unsigned most_variables(const EnumerateOptions& options, const ApplicationTable& applications) {
  const auto largest = static_cast<unsigned>(applications.largest_arity());
  return std::min(applications.vocabulary().most_variables,
                  static_cast<unsigned>(options.ops) * (largest - 1) + 1);
}

/// All that the tiles of a run depend on.
std::uint64_t identity_of(const TermTable& terms, const EnumerateOptions& options) {
  std::uint64_t hash = core::hash_combine(options.seed, static_cast<std::uint64_t>(options.ops));
  const Universe& universe = terms.universe();
  for (const OperatorInstance& i : terms.applications().vocabulary().operators) {
    hash = core::hash_combine(hash, i.op->hash());
    hash = core::hash_combine(hash, i.attributes.hash());
    hash = core::hash_combine(hash, i.arity);
  }
  for (const InputGroup& group : universe.groups) {
    hash = core::hash_combine(hash,
                              core::hash_text(core::to_string(group.type.shape, universe.symbols)));
    hash = core::hash_combine(hash, group.count);
  }
  for (const ConstantInput& c : universe.constants) {
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(c.constant));
    hash =
        core::hash_combine(hash, core::hash_text(core::to_string(c.type.shape, universe.symbols)));
  }
  for (const World& world : universe.worlds)
    for (std::int64_t size : world.sizes)
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(size));
  return hash;
}

class Enumerator {
 public:
  Enumerator(TermTable terms, std::shared_ptr<ApplicationTable> applications,
             const EnumerateOptions& options)
      : options_(options),
        applications_(std::move(applications)), result_{std::move(terms), {}, {}, 0},
        run_(identity_of(result_.terms, options)),
        space_(result_.terms.universe(), most_variables(options, *applications_)),
        values_(result_.terms, space_, options.seed), classes_(result_.terms), arena_(options.jobs),
        extenders_([this] {
          return Extender({result_.terms, space_, values_, index_, symmetries_,
                           most_variables(options_, *applications_)});
        }),
        maps_([this] { return VariantMaps(space_); }),
        progress_(options.progress != nullptr ? *options.progress : core::silent()) {}

  Result<Enumeration> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const TileFiles files, TileFiles::open(options_.resume_dir, run_));
    add_leaves();
    for (int ops = 1; ops <= options_.ops; ++ops) SOAPSTONE_RETURN_IF_ERROR(level(ops, files));
    arena_.run([&] { look_at_pairs(); });
    if (options_.exchange != nullptr) SOAPSTONE_RETURN_IF_ERROR(collect_pairs());
    if (rank() == 0) arena_.run([&] { look_further(); });
    return std::move(result_);
  }

 private:
  TermTable& terms() { return result_.terms; }
  std::size_t rank() const { return options_.exchange == nullptr ? 0 : options_.exchange->rank(); }
  std::size_t ranks() const {
    return options_.exchange == nullptr ? 1 : options_.exchange->ranks();
  }
  std::size_t worlds() { return terms().universe().worlds.size(); }

  void add_leaves() {
    Fingerprinter<std::uint64_t> fingerprinter(worlds());
    for (TermId id = 0; id < terms().leaf_count(); ++id) {
      EvaluatedTerm candidate;
      candidate.term = terms()[id];
      fingerprinter.run(values_.view(id), terms().type(id), space_.of(terms()[id].variables),
                        candidate);
      terms().set_fingerprint(id, candidate.term.fingerprint);
      note_variant(id, candidate.variant);
      representatives_[0].push_back(id);
      // Two constants may be the same tensor; the first stands for both.
      if (classes_.find(candidate.term.fingerprint) != kNoTerm) continue;
      classes_.insert(id);
      index_.add(0, terms().type(id), id);
    }
  }

  void note_variant(TermId id, std::uint16_t variant) {
    variants_.resize(std::max<std::size_t>(variants_.size(), std::size_t{id} + 1));
    variants_[id] = variant;
  }

  /// Asks for the applications to all types that operands may have.
  void prepare(int ops) {
    std::vector<TypeIndex> types;
    for (std::size_t arity = 1; arity <= applications_->largest_arity(); ++arity) {
      types.resize(arity);
      prepare_operands(types, 0, ops - 1);
    }
  }

  void prepare_operands(std::vector<TypeIndex>& types, std::size_t position, int left) {
    if (position == types.size()) {
      if (left == 0) applications_->prepare(types);
      return;
    }
    for (int size = position + 1 == types.size() ? left : 0; size <= left; ++size) {
      if (static_cast<std::size_t>(size) >= index_.levels.size()) break;
      for (const auto& entry : index_.levels[static_cast<std::size_t>(size)]) {
        types[position] = entry.first;
        prepare_operands(types, position + 1, left - size);
      }
    }
  }

  std::vector<TileRange> tiles_of(int ops) {
    std::vector<TileRange> tiles;
    for (int size = ops - 1; size >= 0; --size) {
      const auto count =
          static_cast<std::uint32_t>(representatives_[static_cast<std::size_t>(size)].size());
      const std::uint32_t step = size == ops - 1 ? kLargestDrivers : kOtherDrivers;
      const int reach = size * static_cast<int>(applications_->largest_arity() - 1);
      if (ops - 1 - size > reach) continue;
      for (std::uint32_t begin = 0; begin < count; begin += step)
        tiles.push_back({ops, size, begin, std::min(count, begin + step)});
    }
    return tiles;
  }

  TileResult compute(const TileRange& range) {
    TileResult result{range, {}};
    Extender& extender = extenders_.local();
    for (std::uint32_t k = range.begin; k < range.end; ++k)
      extender.extend(representatives_[static_cast<std::size_t>(range.driver_ops)][k],
                      range.driver_ops, range.ops, result.candidates);
    return result;
  }

  Status level(int ops, const TileFiles& files) {
    progress_.stage(fmt::format("{} operators", ops));
    prepare(ops);
    representatives_.resize(static_cast<std::size_t>(ops) + 1);
    result_.levels.push_back({ops, 0, 0, 0});
    const std::vector<TileRange> tiles = tiles_of(ops);
    std::vector<TileResult> done, next;
    const std::size_t step = std::max(kTilesPerBatch, kTilesPerBatchAndRank * ranks());
    for (std::size_t begin = 0; begin < tiles.size(); begin += step) {
      const std::size_t end = std::min(tiles.size(), begin + step);
      // Tiles of a level do not need what others of it found: a batch is computed while the one
      // before it is merged.
      SOAPSTONE_RETURN_IF_ERROR(
          batch(std::span(tiles).subspan(begin, end - begin), files, done, next));
      std::swap(done, next);
      SOAPSTONE_RETURN_IF_ERROR(report(end, tiles.size()));
    }
    merge(done);
    if (ops < options_.ops) keep_level(ops);
    return core::Done{};
  }

  /// Sets all ranges and the candidates of the tiles that are this process's to compute; merges
  /// those of `done`.
  Status compute_mine(std::span<const TileRange> tiles, const TileFiles& files,
                      std::vector<TileResult>& done, std::vector<TileResult>& results) {
    if (options_.stop != nullptr && options_.stop->stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "told to stop", {}, {}};
    std::vector<Status> failures(tiles.size(), Status(core::Done{}));
    const auto compute_tile = [&](std::size_t k) {
      results[k].range = tiles[k];
      if (options_.exchange != nullptr && !options_.exchange->is_mine(k)) return;
      if (auto known = files.read(tiles[k])) {
        results[k] = *std::move(known);
      } else {
        results[k] = compute(tiles[k]);
        failures[k] = files.write(results[k]);
      }
    };
    arena_.run([&] {
      core::run_both([&] { merge(done); },
                     [&] { core::parallel_for_uneven(0, tiles.size(), compute_tile); });
    });
    for (const Status& status : failures) SOAPSTONE_RETURN_IF_ERROR(status);
    return core::Done{};
  }

  Status batch(std::span<const TileRange> tiles, const TileFiles& files,
               std::vector<TileResult>& done, std::vector<TileResult>& results) {
    results.assign(tiles.size(), {});
    Status status = compute_mine(tiles, files, done, results);
    if (options_.exchange != nullptr) status = share(*options_.exchange, run_, status, results);
    return status;
  }

  void merge(std::vector<TileResult>& tiles) {
    batch_bytes_ = 0;
    for (const TileResult& tile : tiles) {
      batch_bytes_ += tile.candidates.size() * sizeof(EvaluatedTerm);
      for (const EvaluatedTerm& candidate : tile.candidates) merge(candidate, tile.range.ops);
    }
    tiles.clear();
  }

  void merge(const EvaluatedTerm& candidate, int ops) {
    LevelStatistics& statistics = result_.levels.back();
    ++statistics.candidates;
    const TermId known = classes_.find(candidate.term.fingerprint);
    if (known == kNoTerm) {
      // Made of constants alone: one more constant, of which no law that matters is known.
      if (candidate.term.variables.bits == 0) return;
      const TermId id = terms().add(candidate.term);
      note_variant(id, candidate.variant);
      classes_.insert(id);
      ++statistics.classes;
      representatives_[static_cast<std::size_t>(ops)].push_back(id);
      if (candidate.symmetric != 0) symmetric_.push_back(id);
      return;
    }
    const TermId id = terms().add(candidate.term);
    const Renaming names = between(slots_of(known), terms()[known].variables,
                                   space_.of(candidate.term.variables).slots(candidate.variant),
                                   candidate.term.variables);
    if (same_up_to_commutation(terms(), {known, names},
                               {id, identity_renaming(candidate.term.variables)})) {
      terms().remove_last();
      return;
    }
    ++statistics.pairs;
    note_variant(id, candidate.variant);
    result_.pairs.push_back({known, id, names, true});
  }

  Renaming slots_of(TermId id) { return space_.of(terms()[id].variables).slots(variants_[id]); }

  /// Puts the representatives of a level that is done into the index, and keeps the values of those
  /// that will be small operands. The others are drivers only.
  void keep_level(int ops) {
    const std::vector<TermId>& ids = representatives_[static_cast<std::size_t>(ops)];
    for (TermId id : ids) index_.add(ops, terms().type(id), id);
    if (ops + 1 >= options_.ops) return;
    values_.reserve(terms().size());
    std::vector<Symmetries> found(ids.size());
    arena_.parallel_for(0, ids.size(), [&](std::size_t k) {
      values_.store(ids[k], maps_.local());
      found[k] =
          symmetries_of(values_.view(ids[k]), worlds(), space_.of(terms()[ids[k]].variables));
    });
    for (std::size_t k = 0; k < ids.size(); ++k) {
      values_.note_memory(values_.size_of(ids[k]) * sizeof(std::uint64_t));
      if (!found[k].empty()) symmetries_.emplace(ids[k], std::move(found[k]));
    }
  }

  Status report(std::size_t done, std::size_t total) {
    const std::uint64_t memory =
        terms().memory_bytes() + values_.memory_bytes() + classes_.memory_bytes() + batch_bytes_ +
        variants_.capacity() * sizeof(variants_[0]) + result_.pairs.capacity() * sizeof(EqualPair);
    result_.peak_memory_bytes = std::max(result_.peak_memory_bytes, memory);
    const LevelStatistics& s = result_.levels.back();
    progress_.update(done, total,
                     fmt::format("{} terms, {} classes, {} pairs, {} MB", s.candidates, s.classes,
                                 s.pairs, memory >> 20));
    if (options_.memory_limit_bytes != 0 && memory > options_.memory_limit_bytes)
      return core::Error{core::ErrorCode::kRequirementNotMet,
                         fmt::format("the tables take {} MB, which is more than the limit of {} MB",
                                     memory >> 20, options_.memory_limit_bytes >> 20),
                         {},
                         "raise --memory-limit, or lower --ops"};
    return core::Done{};
  }

  /// Each rank looks at a part of the pairs, all of which are known to all.
  void look_at_pairs() {
    const auto part = [&](auto& all) {
      const std::size_t begin = all.size() * rank() / ranks();
      const std::size_t end = all.size() * (rank() + 1) / ranks();
      return std::span(all).subspan(begin, end - begin);
    };
    if (rank() == 0) paired_ = result_.pairs;
    const std::span<EqualPair> mine = part(result_.pairs);
    result_.pairs = {mine.begin(), mine.end()};
    drop_wrong_pairs(result_, 0, values_, space_, variants_);
    add_symmetric_pairs(result_, values_, space_, part(symmetric_));
    drop_coincidences(result_, 0, space_, options_.seed);
  }

  /// Puts the parts of all ranks together, in the order that one process finds.
  Status collect_pairs() {
    std::vector<EqualPair>& pairs = result_.pairs;
    const auto bytes = std::as_bytes(std::span(pairs));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all, options_.exchange->all_gather(std::vector<std::byte>(
                                                   bytes.begin(), bytes.end())));
    pairs.clear();
    if (rank() != 0) return core::Done{};
    for (const std::vector<std::byte>& part : all) {
      pairs.resize(pairs.size() + part.size() / sizeof(EqualPair));
      std::ranges::copy(part, std::as_writable_bytes(std::span(pairs)).end() -
                                  static_cast<std::ptrdiff_t>(part.size()));
    }
    const auto is_symmetry = [](const EqualPair& p) { return p.representative == p.newcomer; };
    std::stable_partition(pairs.begin(), pairs.end(), std::not_fn(is_symmetry));
    return core::Done{};
  }

  void look_further() {
    pair_dropped_terms(result_, paired_, values_, space_, variants_, options_.seed);
    paired_ = {};
    const std::size_t exact = result_.pairs.size();
    add_pairs_in_doubles(result_, space_, options_, representatives_);
    drop_coincidences(result_, exact, space_, options_.seed);
  }

  const EnumerateOptions& options_;
  std::shared_ptr<ApplicationTable> applications_;
  Enumeration result_;
  const std::uint64_t run_;
  VariantSpace space_;
  ValueStore<std::uint64_t> values_;
  LevelIndex index_;
  ClassTable classes_;
  std::unordered_map<TermId, Symmetries> symmetries_;  // of terms whose values are kept
  std::vector<std::uint16_t> variants_;                // by term: the variant of its fingerprint
  std::vector<std::vector<TermId>> representatives_ = std::vector<std::vector<TermId>>(1);
  std::vector<TermId> symmetric_;
  std::vector<EqualPair> paired_;  // by their fingerprints
  std::uint64_t batch_bytes_ = 0;
  core::TaskArena arena_;
  core::PerThread<Extender> extenders_;
  core::PerThread<VariantMaps> maps_;
  core::ProgressSink& progress_;
};

}  // namespace

Result<Enumeration> enumerate(const Vocabulary& vocabulary, const EnumerateOptions& options) {
  Universe universe = make_universe(vocabulary, options.ops);
  auto applications = std::make_shared<ApplicationTable>(vocabulary, universe);
  TermTable terms(std::move(universe), applications);
  return Enumerator(std::move(terms), std::move(applications), options).run();
}

Result<Sides> sides_of(const Enumeration& enumeration, const EqualPair& pair) {
  const NamedTerm source{pair.newcomer,
                         identity_renaming(enumeration.terms[pair.newcomer].variables)};
  const NamedTerm target{pair.representative, pair.names};
  return to_graphs(enumeration.terms, std::span(&source, 1), std::span(&target, 1));
}

}  // namespace soapstone::generator
