// Keeps the results of regions in a file, so that a search that was killed goes on from there. The
// file is not believed: each rewrite in it is matched, admitted and priced again.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "search/base/types.h"
#include "search/passes/way.h"
#include "search/regions/region.h"
#include "search/regions/region_search.h"

namespace soapstone::search {

/// Everything that the results of regions depend on. A checkpoint with another identity is of no
/// use.
struct CheckpointIdentity {
  std::uint64_t model = 0;  ///< Hash of the graph that is searched.
  std::uint64_t rules = 0;
  std::string costs;    ///< CostModel::description(), and what is fused.
  std::string options;  ///< "alpha=1.25 budget=20000 …", without those that only end a search.
  bool operator==(const CheckpointIdentity&) const = default;
};
CheckpointIdentity identity_of(const core::Graph& graph, const rules::RuleSet& rules,
                               const cost::CostModel& cost, runtime::Fusion fusion,
                               const SearchOptions& options);

/// The entry of a file for one kind of region.
struct CheckpointEntry {
  struct Rewrite {
    core::RuleId rule;
    std::vector<core::NodeId> nodes;
    std::vector<core::TensorId> inputs;
  };
  std::vector<Rewrite> rewrites;
  double cost_before_us = 0, cost_after_us = 0;
  std::uint64_t expanded = 0, expanded_whole = 0, built = 0, duplicates = 0;
  RegionStop stop = RegionStop::kExhausted;

  /// Whether a search with that budget would have ended just so.
  bool holds_with(std::uint64_t budget) const;
};

/// Two hashes of a signature: that two kinds share both does not happen, and would do no harm.
using CheckpointKey = std::array<std::uint64_t, 2>;
CheckpointKey key_of(const Region& region, const Way& way);

struct CheckpointContents {
  CheckpointIdentity identity;
  std::map<CheckpointKey, CheckpointEntry> entries;
};
/// One line a region and one a rewrite, in the order of the keys; numbers keep all their bits.
/// `rules` are named in comments.
std::string print(const CheckpointContents& contents, const rules::RuleSet& rules);
/// Errors: kInvalidInput with the line: no checkpoint, another version, one that was cut off.
core::Result<CheckpointContents> parse_checkpoint(std::string_view text);

/// Safe from several threads once it is open.
class Checkpoint {
 public:
  /// The file is written every `interval_s` at most.
  explicit Checkpoint(std::filesystem::path file, double interval_s = 0.3)
      : file_(std::move(file)), interval_s_(interval_s) {}

  /// Reads the file if there is one. `rules` must outlive this.
  /// Errors: kInvalidInput if it cannot be read, or is of another search: what differs.
  core::Status open(const CheckpointIdentity& identity, const rules::RuleSet& rules);
  /// Regions that the file held.
  std::size_t read() const { return read_; }

  /// The result of searching such a region with that budget of graphs, if it is known and still
  /// holds: every rewrite matches and is admitted, and the costs are those that were found then.
  std::optional<RegionResult> find(const Region& region, const Way& way, std::uint64_t budget,
                                   verifier::Admission& rules, cost::CostModel& cost) const;
  /// Remembers a search that came to its end, and writes the file if that is due.
  void add(const Region& region, const Way& way, const RegionResult& found);
  /// Writes what was added since. Errors: kInvalidInput or kUnavailable; those of writes before,
  /// too.
  core::Status write();

 private:
  void write_locked();

  const std::filesystem::path file_;
  const double interval_s_;
  const rules::RuleSet* rules_ = nullptr;
  mutable std::mutex mutex_;
  CheckpointContents contents_;
  std::size_t read_ = 0;
  double written_at_s_ = 0;
  bool changed_ = false;
  core::Status outcome_ = core::Done{};
};

}  // namespace soapstone::search
