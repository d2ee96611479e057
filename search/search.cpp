// Rounds of best-first search. A round takes the cheapest graphs from the queue, builds all their
// successors in parallel, and merges them one after the other in a fixed order. Successors wait in
// the queue as (parent, rule, match) and are built again when their turn comes: most never have
// one. A rewrite that gains nothing by itself may enable another one, but only near by: its graph
// is expanded around what changed since the last gain, not everywhere (docs/adr/0005).
#include "search/search.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::RuleId;

/// Graphs taken from the queue at once. Fixed: the result must not depend on the machine.
constexpr std::size_t kRoundWidth = 4;
/// Below this share of the cost of the original a graph counts as better: rounding is no gain.
constexpr double kRealGain = 1 - 1e-6;
/// Successors held in memory at once.
constexpr std::size_t kChunk = 256;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A graph that was found: how it comes from its parent, and itself once somebody needs it.
struct Entry {
  std::shared_ptr<const Entry> parent;
  RuleId rule;
  rules::Match match;
  double cost_us = 0;
  double settled_us = 0;     ///< Cost of the nearest ancestor, or itself, that was a gain.
  int pending = 0;           ///< Rewrites since then.
  std::uint64_t serial = 0;  ///< Breaks ties: earlier first.
  mutable std::optional<Graph> graph;
  mutable std::vector<NodeId> changed;  ///< Nodes that came or changed since the last gain.
};
using EntryPtr = std::shared_ptr<const Entry>;

struct Cheaper {
  bool operator()(const EntryPtr& a, const EntryPtr& b) const {
    return std::tie(a->cost_us, a->serial) < std::tie(b->cost_us, b->serial);
  }
};

/// Short detours before long ones, cheap before dear. By cost alone, the many rewrites that change
/// nothing would hide the one that has to get worse before it gets better.
struct MorePromising {
  bool operator()(const EntryPtr& a, const EntryPtr& b) const {
    return std::tie(a->pending, a->cost_us, a->serial) <
           std::tie(b->pending, b->cost_us, b->serial);
  }
};

struct Successor {
  EntryPtr parent;
  RuleId rule;
  rules::Match match;
  std::optional<Graph> graph;  ///< Empty: the target does not fit here.
  double cost_us = 0;
  bool is_new = false;
};

class Searcher {
 public:
  Searcher(verifier::Admission& admission, cost::CostModel& cost, const SearchOptions& options,
           core::ProgressSink& progress, const core::StopToken& stop)
      : admission_(admission), rules_(admission.rules()), cost_(cost), options_(options),
        progress_(progress), stop_(stop),
        arena_(options.jobs > 0 ? options.jobs : tbb::task_arena::automatic) {}

  SearchResult run(const Graph& original);

 private:
  bool out_of_time() const;
  bool may_go_on();
  std::vector<EntryPtr> take_round();
  std::vector<Successor> matches_of(const std::vector<EntryPtr>& round);
  Graph graph_of(const Entry& entry) const;
  void materialize(const Entry& entry) const;
  void build(std::span<Successor> chunk);
  void price(std::span<Successor> chunk);
  void merge(std::span<Successor> chunk);
  void enqueue(EntryPtr entry);
  void backtrack();
  void report_progress();
  Candidate candidate(const EntryPtr& entry) const;

  verifier::Admission& admission_;
  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  const SearchOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  tbb::task_arena arena_;
  SearchResult result_;
  std::set<EntryPtr, MorePromising> queue_;  ///< Ways on from the best graph so far.
  std::set<EntryPtr, Cheaper> later_;        ///< Everything else, for when there are none left.
  std::unordered_set<std::uint64_t> seen_;
  std::set<EntryPtr, Cheaper> best_;
  double best_cost_us_ = 0;
  double front_cost_us_ = 0;  ///< Of the graph that the queue leads on from.
  double original_cost_us_ = 0;
  std::uint64_t next_serial_ = 0;
  double started_ = 0;
};

bool Searcher::out_of_time() const {
  return options_.time_s > 0 && wall_seconds() - started_ > options_.time_s;
}

bool Searcher::may_go_on() {
  if (stop_.stop_requested()) {
    result_.stop_reason = StopReason::kInterrupted;
  } else if (result_.graphs_expanded >= options_.budget) {
    result_.stop_reason = StopReason::kBudget;
  } else if (out_of_time()) {
    result_.stop_reason = StopReason::kTime;
  } else {
    return true;
  }
  return false;
}

std::vector<EntryPtr> Searcher::take_round() {
  std::vector<EntryPtr> round;
  const std::uint64_t left = options_.budget - result_.graphs_expanded;
  while (!queue_.empty() && round.size() < std::min<std::uint64_t>(kRoundWidth, left)) {
    EntryPtr entry = *queue_.begin();
    queue_.erase(queue_.begin());
    // The bound may have fallen since the entry was queued.
    if (entry->cost_us > options_.alpha * best_cost_us_) continue;
    round.push_back(std::move(entry));
  }
  return round;
}

/// The entry's graph, made anew from the nearest ancestor that still has one.
Graph Searcher::graph_of(const Entry& entry) const {
  if (entry.graph) return *entry.graph;
  auto graph = rules::apply(graph_of(*entry.parent), rules_[entry.rule], entry.match);
  CHECK(graph.ok(), "a rewrite that fitted once does not fit again");
  return *std::move(graph);
}

/// Makes the entry's graph, and lists what changed in it since the last gain.
void Searcher::materialize(const Entry& entry) const {
  entry.graph = graph_of(entry);
  if (entry.pending == 0) return;
  const Graph& now = *entry.graph;
  const Graph before = graph_of(*entry.parent);
  entry.changed.clear();
  for (const NodeId id : now.order()) {
    const bool is_new = !before.contains(id) || &before.node(id) != &now.node(id);
    const std::vector<NodeId>& earlier = entry.parent->changed;
    if (is_new || std::find(earlier.begin(), earlier.end(), id) != earlier.end()) {
      entry.changed.push_back(id);
    }
  }
}

std::vector<Successor> Searcher::matches_of(const std::vector<EntryPtr>& round) {
  std::vector<std::vector<Successor>> found(round.size());
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, round.size(), [&](std::size_t k) {
      const Entry& entry = *round[k];
      materialize(entry);
      const auto take = [&](RuleId rule, const rules::Match& match) {
        found[k].push_back({round[k], rule, match, std::nullopt, 0, false});
        return true;
      };
      if (entry.pending == 0) {
        rules_.for_each_match(*entry.graph, take);
      } else {
        rules_.for_each_match_at(*entry.graph, entry.changed, take);
      }
    });
  });
  std::vector<Successor> all;
  for (auto& list : found) std::move(list.begin(), list.end(), std::back_inserter(all));
  return all;
}

void Searcher::build(std::span<Successor> chunk) {
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, chunk.size(), [&](std::size_t k) {
      Successor& s = chunk[k];
      auto graph = rules::apply(*s.parent->graph, rules_[s.rule], s.match);
      // Last, for what it asks may have to be proved; and before the graph counts as seen, which
      // another rule may reach as well.
      if (graph && admission_.admits(s.rule, s.match)) s.graph = *std::move(graph);
    });
  });
  for (Successor& s : chunk) {
    if (!s.graph) continue;
    ++result_.graphs_built;
    s.is_new = seen_.insert(s.graph->hash()).second;
    if (!s.is_new) ++result_.duplicates;
  }
}

void Searcher::price(std::span<Successor> chunk) {
  const auto price_one = [&](Successor& s) {
    if (s.is_new && !stop_.stop_requested()) s.cost_us = cost_.graph_cost(*s.graph).total_us;
  };
  if (cost_.needs_quiet_machine()) {
    for (Successor& s : chunk) {
      // A kernel that nobody timed yet takes a while, so time is looked at here as well.
      if (out_of_time()) s.is_new = false;
      price_one(s);
    }
    return;
  }
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, chunk.size(), [&](std::size_t k) { price_one(chunk[k]); });
  });
}

void Searcher::merge(std::span<Successor> chunk) {
  if (stop_.stop_requested()) return;  // price() may have skipped some
  for (Successor& s : chunk) {
    if (!s.is_new || s.cost_us > options_.alpha * best_cost_us_) continue;
    auto entry = std::make_shared<Entry>();
    entry->parent = s.parent;
    entry->rule = s.rule;
    entry->match = std::move(s.match);
    entry->cost_us = s.cost_us;
    entry->serial = next_serial_++;
    const bool gain = s.cost_us < kRealGain * s.parent->settled_us;
    entry->settled_us = gain ? s.cost_us : s.parent->settled_us;
    entry->pending = gain ? 0 : s.parent->pending + 1;
    if (entry->pending > options_.max_detour) continue;
    if (s.cost_us < kRealGain * original_cost_us_) {
      entry->graph = std::move(s.graph);
      best_.insert(entry);
      if (best_.size() > options_.keep) best_.erase(std::prev(best_.end()));
      best_cost_us_ = std::min(best_cost_us_, s.cost_us);
      if (!best_.contains(entry)) entry->graph.reset();  // too many are better already
    }
    enqueue(std::move(entry));
  }
  while (queue_.size() > options_.queue_limit) queue_.erase(std::prev(queue_.end()));
  while (later_.size() > options_.queue_limit) later_.erase(std::prev(later_.end()));
}

/// A new best graph is where the search goes on; what was queued before starts from worse.
void Searcher::enqueue(EntryPtr entry) {
  if (entry->cost_us < kRealGain * front_cost_us_) {
    front_cost_us_ = entry->cost_us;
    later_.insert(queue_.begin(), queue_.end());
    queue_.clear();
  }
  if (entry->settled_us <= front_cost_us_) {
    queue_.insert(std::move(entry));
  } else {
    later_.insert(std::move(entry));
  }
}

/// When nothing leads on from the best graph, the cheapest of the others is gone back to.
void Searcher::backtrack() {
  if (!queue_.empty() || later_.empty()) return;
  queue_.insert(*later_.begin());
  later_.erase(later_.begin());
  front_cost_us_ = (*queue_.begin())->settled_us;
}

void Searcher::report_progress() {
  progress_.update(result_.graphs_expanded, options_.budget,
                   fmt::format("best {:.3f}x", original_cost_us_ / best_cost_us_));
}

Candidate Searcher::candidate(const EntryPtr& entry) const {
  Candidate result{graph_of(*entry), entry->cost_us, {}};
  for (EntryPtr at = entry; at->parent; at = at->parent) {
    const rules::Rule& rule = rules_[at->rule];
    result.steps.push_back({rule.name, rule.base_name, at->rule, at->match,
                            at->parent->cost_us - at->cost_us, graph_of(*at)});
  }
  std::reverse(result.steps.begin(), result.steps.end());
  return result;
}

SearchResult Searcher::run(const Graph& original) {
  started_ = wall_seconds();
  const double cpu_before = cpu_seconds();
  result_.cost_before = cost_.graph_cost(original);
  original_cost_us_ = best_cost_us_ = front_cost_us_ = result_.cost_before.total_us;
  seen_.insert(original.hash());
  const auto root = std::make_shared<Entry>();
  root->cost_us = root->settled_us = original_cost_us_;
  root->serial = next_serial_++;
  root->graph = original;
  queue_.insert(root);
  while (!queue_.empty() && may_go_on()) {
    const std::vector<EntryPtr> round = take_round();
    if (round.empty()) {  // all that was left had become too expensive
      backtrack();
      continue;
    }
    std::vector<Successor> successors = matches_of(round);
    for (std::size_t at = 0; at < successors.size() && !stop_.stop_requested() && !out_of_time();
         at += kChunk) {
      std::span chunk(successors.data() + at, std::min(kChunk, successors.size() - at));
      build(chunk);
      price(chunk);
      merge(chunk);
      for (Successor& s : chunk) s.graph.reset();
      report_progress();
    }
    // Most of what is expanded leads nowhere; what does can be made again.
    for (const EntryPtr& entry : round) {
      if (entry->pending > 0) entry->graph.reset();
    }
    backtrack();
    result_.graphs_expanded += round.size();
    report_progress();
  }
  for (const EntryPtr& entry : best_) result_.best.push_back(candidate(entry));
  result_.cpu_s = cpu_seconds() - cpu_before;
  return std::move(result_);
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
  case StopReason::kExhausted:
    return "search space exhausted";
  case StopReason::kBudget:
    return "budget of graphs used up";
  case StopReason::kTime:
    return "time used up";
  case StopReason::kInterrupted:
    return "interrupted";
  }
  return "";
}

SearchResult search(const Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                    const SearchOptions& options, core::ProgressSink& progress,
                    const core::StopToken& stop) {
  return Searcher(rules, cost, options, progress, stop).run(original);
}

}  // namespace soapstone::search
