// Options and results of a search.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "ops/ranges/special_values.h"
#include "search/base/objective.h"
#include "search/proofs/lemma.h"
#include "transforms/base/transform.h"
#include "verifier/admission.h"

namespace soapstone::search {

enum class Strategy : std::uint8_t {
  kPortfolio,     ///< What pays for each family of regions, as far as the effort goes.
  kBacktracking,  ///< Cheapest first through graphs that cost less than alpha times the best.
  kEqsat,         ///< Equality saturation.
  kBest,          ///< Both, and on from the better result with either.
};
std::string_view to_string(Strategy strategy);
std::optional<Strategy> parse_strategy(std::string_view text);
class Checkpoint;
struct RegionMemory;
class TraceSink;

constexpr int kDefaultEffort = 3, kMostEffort = 5;
constexpr std::uint64_t kDefaultBudget = 20'000;

struct SearchOptions {
  Strategy strategy = Strategy::kPortfolio;
  /// From 1 to kMostEffort: how much counted work the portfolio may do. A greater effort never ends
  /// with a worse result.
  int effort = kDefaultEffort;
  double alpha = 1.25;  ///< ≥ 1, of a region's cost; at 1 only gains are followed.
  /// Graphs to expand. None: as many as the effort allows; with another strategy, kDefaultBudget.
  std::optional<std::uint64_t> budget = std::nullopt;
  int max_detour = 3;    ///< Rewrites in a row without a gain before a branch is given up.
  double time_s = 0;     ///< Wall clock; 0: no limit (a limit makes results depend on speed).
  int jobs = 0;          ///< Threads; 0: all cores. The result does not depend on it.
  std::size_t keep = 4;  ///< How many of the best graphs to return.
  // For strategies other than the portfolio, which chooses them by its effort.
  /// Most nodes in a region. Each size starts from the original; from the best of what they come to
  /// all go on in turn.
  std::vector<std::size_t> region_sizes = {48, 24};
  std::size_t eqsat_region_size = 25;  ///< Most nodes in a region that is saturated.
  std::size_t eqsat_nodes = 1'000;     ///< E-nodes for one region.
  std::uint64_t patience = 80;         ///< Graphs to expand in a region after its last gain.

  double memory_mib = 400;               ///< For the graphs of regions under search.
  const Objective* objective = nullptr;  ///< None: latency. Must outlive the search.
  TraceSink* trace = nullptr;            ///< Hears what happens, if there is one.
  Checkpoint* checkpoint = nullptr;      ///< Open: what it knows is not searched again.
  RegionMemory* memory = nullptr;  ///< If set: results of earlier searches of the same job, which
                                   ///< are not searched again.
  bool behind_opaque = true;       ///< Rewrite what depends on opaque nodes.
  ops::Surroundings surroundings = {};  ///< Of the graph, if it stands inside another one.
  /// Whether a rule that is made for the graph may be used. None: no rules are made.
  std::function<bool(const rules::Rule&)> admits_made = nullptr;
  /// Whether a transform is tried. None: all are.
  std::function<bool(const transforms::Transform&)> tries = nullptr;
  /// Called once a graph is known that is better than the original. May be empty.
  std::function<void()> found_gain = nullptr;
};

/// One rewrite on the way from the original to a result.
struct Step {
  std::string rule;       ///< Rule::name
  std::string base_rule;  ///< Rule::base_name
  core::RuleId id;
  rules::Match match;  ///< In the graph before.
  double gain_us = 0;  ///< Cost before minus cost after; negative steps enable later ones.
  LemmaPtr lemma;      ///< If set, it is what was applied, and `id` is none.
  /// Steps of one site were found together and are of use only together. Sites are numbered in the
  /// order of the steps.
  std::uint32_t site = 0;
  std::uint64_t kind = 0;  ///< Equal for sites at which regions of one kind were made better.
  /// If set, it is what would be applied if it were proved, and `id` is none.
  std::shared_ptr<const rules::Rule> draft = nullptr;
  /// Whether NaN and infinities matter there, which the proof of a draft has to know.
  verifier::SpecialsAt specials = {};

  const rules::Rule& rewriting(const rules::RuleSet& rules) const {
    return draft ? *draft : lemma ? lemma->rule : rules[id];
  }
};

/// Adds steps that were made on the graph behind `all`; their sites, which are numbered from 0, go
/// on counting.
void append_steps(std::vector<Step>& all, std::vector<Step> more);

struct Candidate {
  core::Graph graph;  ///< With memory in the objective, in the order that serves it.
  double cost_us = 0;
  std::vector<Step> steps;
  Score score;  ///< Compared by the objective; its latency is `cost_us`.
};

enum class StopReason : std::uint8_t {
  kExhausted,  ///< All that rewrites within alpha lead to was seen.
  kSettled,    ///< The patience with some region came to an end.
  kBudget,
  kTime,
  kInterrupted
};
std::string_view to_string(StopReason reason);

/// How good the cheapest graph is, as far as equality saturation can tell, region by region.
/// Nothing is said about rewrites that need more than a region.
struct Certificate {
  std::size_t regions = 0;  ///< Into which the graph is divided.
  /// Regions for which the e-graph holds all that the rules make of them, and nothing in it is
  /// cheaper.
  std::size_t optimal = 0;
  /// The optimal regions, and those whose saturation was ended by a limit with nothing cheaper in
  /// the e-graph.
  std::size_t cheapest_kept = 0;
  /// No region has a graph in its e-graph that is cheaper by more than this share.
  double largest_gap = 0;
  /// The share of the cost of all regions by which their e-graphs might hold cheaper graphs, and
  /// the part of it that a cheaper graph was found for. The rest is between what was found and
  /// bounds.
  double gap = 0, found_gap = 0;
};

struct SearchResult {
  std::vector<Candidate> best;  ///< Cheapest first; the last resort, the original, is not in it.
  cost::GraphCost cost_before;
  Strategy strategy = Strategy::kPortfolio;
  /// Graphs whose successors by one rewrite were looked for. What is no gain is looked at only near
  /// what has changed since the last gain.
  std::uint64_t graphs_expanded = 0;
  std::uint64_t graphs_expanded_whole = 0;  ///< All over the graph.
  std::uint64_t graphs_built = 0;           ///< Successors made, hashed and compared.
  std::uint64_t duplicates = 0;
  std::uint64_t regions = 0;           ///< Looked at, over all passes.
  std::uint64_t regions_searched = 0;  ///< The others were like one of these.
  std::uint64_t e_nodes = 0;           ///< In the e-graphs of all regions.
  /// Counted work. A graph and an e-node take about as long, and neither count depends on speed.
  std::uint64_t work() const { return graphs_built + e_nodes; }
  std::uint64_t underivable = 0;  ///< Regions with a gain that could not be derived again.
  std::optional<Certificate> certificate;
  /// The part of these counts that came from a checkpoint.
  std::uint64_t regions_resumed = 0, graphs_resumed = 0;
  double cpu_s = 0, wall_s = 0;
  StopReason stop_reason = StopReason::kExhausted;
};

}  // namespace soapstone::search
