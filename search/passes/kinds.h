// Keeps the result of each kind of region. Regions with one signature are of one kind, which is
// searched once, in parallel with other kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/tasks/crew.h"
#include "cost/models/cost_model.h"
#include "rules/saturation/saturate.h"
#include "search/base/objective.h"
#include "search/base/types.h"
#include "search/passes/ahead.h"
#include "search/passes/way.h"
#include "search/regions/region.h"
#include "search/regions/region_search.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// The setting of one pass over the graph.
struct PassInfo {
  std::size_t region_size = 0;
  double graph_us = 0;  ///< Cost of the graph when the pass begins.
  /// Graphs that may have been expanded when it ends, which its regions share. None: only so many
  /// new kinds are searched that the pass is not long, each as far as its way goes.
  std::optional<std::uint64_t> budget;
};

/// The results of regions in one job, for a further search with fewer rules.
struct RegionMemory {
  std::map<Way, std::map<std::vector<std::uint64_t>, RegionResult>> known;
  /// Drops what rests on a rule that is excluded now.
  void forget(const verifier::Admission& rules);
};

class Kinds {
 public:
  /// Everything must outlive it. `counts` receives what searches took; `report` is called now and
  /// then.
  Kinds(verifier::Admission& admission, cost::CostModel& cost, const SearchOptions& options,
        const Objective& objective, core::Crew& crew, std::function<bool()> stopped,
        std::function<void()> report, SearchResult& counts)
      : admission_(admission), cost_(cost), options_(options), objective_(objective), crew_(crew),
        stopped_(std::move(stopped)), report_(std::move(report)), counts_(counts),
        merging_(merging_rules(admission.rules())),
        ahead_([this](const Region& region, const Way& way) { return search_ahead(region, way); }) {
    if (options.memory != nullptr) known_ = std::move(options.memory->known);
  }

  /// Searches the kinds that were not searched in this way before, in batches of a fixed width: the
  /// result does not depend on the number of threads. False: some are left for the next pass.
  bool search_new(std::span<const Region* const> regions, const Way& way, const PassInfo& pass,
                  const ObjectiveStage& stage);
  /// Tells what will be searched later, in passes without a budget for lower latency, as soon as
  /// threads have nothing else to do. `regions` is called by one of them.
  void expect(std::function<std::vector<Region>()> regions, const Way& way);
  /// Searches a region that is expected. False: there is none.
  bool work_ahead() { return ahead_.work(); }
  /// Null: it was not searched.
  const RegionResult* find(const Region& region, const Way& way) const;
  /// Whether every search saw all that there was.
  bool all_exhausted() const;
  /// Moves the results to the memory of the options, if there is one.
  void hand_back() {
    if (options_.memory != nullptr) options_.memory->known = std::move(known_);
  }
  /// Counts passes, from 1.
  std::uint64_t pass() const { return pass_; }

 private:
  using Signature = std::vector<std::uint64_t>;
  /// The result of one region in a batch.
  struct Searched {
    RegionResult result;
    bool resumed = false;
    double duration_us = 0;
  };

  void search_all(const std::vector<const Region*>& fresh, const Way& way, const PassInfo& pass,
                  const ObjectiveStage& stage);
  void search_batch(const std::vector<const Region*>& batch, const Way& way, const PassInfo& pass,
                    const ObjectiveStage& stage);
  void largest_first(const std::vector<const Region*>& batch, const Way& way,
                     const std::function<void(std::size_t)>& use);
  RegionResult backtrack(const Region& region, const Way& way, const RegionLimits& limits,
                         const ObjectiveStage& stage, bool& resumed);
  RegionResult saturate(const Region& region, const Way& way);
  RegionResult search_ahead(const Region& region, const Way& way);
  /// Once, by whoever is there first.
  void prepare_to_saturate();
  void make_ready_to_saturate();
  void keep(const Region& region, const Way& way, Searched found);
  void trace_pass(std::span<const Region* const> regions, std::size_t fresh, const PassInfo& pass);
  std::uint64_t left_of(const PassInfo& pass) const;
  RegionLimits limits(const Region& region, const Way& way, std::uint64_t budget) const;

  verifier::Admission& admission_;
  cost::CostModel& cost_;
  const SearchOptions& options_;
  const Objective& objective_;
  core::Crew& crew_;
  std::function<bool()> stopped_;
  std::function<void()> report_;
  SearchResult& counts_;
  std::map<Way, std::map<Signature, RegionResult>> known_;
  std::map<Signature, std::size_t> places_;  ///< Regions of each kind in the current pass.
  std::uint64_t pass_ = 0;
  std::vector<bool> merging_;  ///< By rule; see merging_rules().
  std::once_flag is_prepared_;
  std::optional<rules::SaturationRules> prepared_;
  std::unique_ptr<cost::CostModel> e_node_cost_;  ///< If it is not the cost model.
  Ahead ahead_;
};

}  // namespace soapstone::search
