// A rewrite that gains nothing by itself may enable another one, but only near by: its graph is
// expanded around what changed since the last gain, not everywhere (docs/adr/0005).
#include "search/regions/region_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "search/base/real_gain.h"
#include "search/regions/carrying.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::RuleId;
using core::TensorId;

/// Alpha is relative to at least that cost: where a few launches are all, one more on the way is a
/// large part.
constexpr double kLeastScale_us = 60;
/// Steps of one move that carries an operator past others.
constexpr int kMostCarried = 48;
/// Successors of one graph by one instance of a rule: of many siblings there are far more pairs.
constexpr int kMostOfOneRule = 40;
/// Of successors by one instance that cost the same and gain nothing, so many are gone on from:
/// they are mostly the same thing done to one or the other of nodes that are alike.
constexpr int kMostAlike = 6;

/// A graph that was found, and how it comes from its parent.
struct Entry {
  const Entry* parent = nullptr;
  rules::Rewrite rewrite;
  Graph graph;
  double cost_us = 0;
  double settled_us = 0;        ///< Cost of the nearest ancestor, or itself, that was a gain.
  int pending = 0;              ///< Rewrites since then.
  std::uint64_t serial = 0;     ///< Counts what was found; breaks ties.
  std::vector<NodeId> changed;  ///< Nodes that came or changed since the last gain.
};

struct Cheaper {
  bool operator()(const Entry* a, const Entry* b) const {
    return std::tie(a->cost_us, a->serial) < std::tie(b->cost_us, b->serial);
  }
};

/// Short detours before long ones, cheap before dear, and what was found last first: it lies near
/// what changed before. By cost alone, the many rewrites that change nothing would hide the one
/// that has to get worse before it gets better.
struct MorePromising {
  bool operator()(const Entry* a, const Entry* b) const {
    return std::tie(a->pending, a->cost_us, b->serial) <
           std::tie(b->pending, b->cost_us, a->serial);
  }
};

/// Nodes that are new or have changed, or had before.
std::vector<NodeId> changed_since(const Entry& origin, const Graph& graph) {
  std::vector<NodeId> changed;
  for (const NodeId id : graph.order()) {
    const bool is_new = !origin.graph.contains(id) || &origin.graph.node(id) != &graph.node(id);
    if (is_new || std::ranges::find(origin.changed, id) != origin.changed.end())
      changed.push_back(id);
  }
  return changed;
}

class RegionSearch {
 public:
  RegionSearch(verifier::Admission& admission, cost::CostModel& cost, const RegionLimits& limits,
               const std::function<bool()>& stopped, const ops::SpecialValues& specials)
      : admission_(admission), rules_(admission.rules()), cost_(cost), limits_(limits),
        stopped_(stopped), specials_(specials) {
    for (const rules::Rule& rule : rules_.rules()) carried_.push_back(carried_by(rule));
    taken_.resize(carried_.size());
  }

  RegionResult run(const Graph& graph);

 private:
  void expand(const Entry& entry);
  Entry* build(const Entry& parent, RuleId rule, const rules::Match& match);
  void consider(const Entry& parent, RuleId rule, const rules::Match& match);
  void settle(Entry& entry, const Entry& origin);
  void carry(const Entry& from, const Entry& origin, const Carried& carried);
  Entry* carry_once(const Entry& at, const Entry& origin, const Carried& carried);
  Entry* add(Graph graph);
  void enqueue(const Entry* entry);
  void backtrack();
  /// What a graph may cost to be gone on from.
  double most_us() const {
    return best_->cost_us + (limits_.alpha - 1) * std::max(best_->cost_us, kLeastScale_us);
  }
  bool is_left_out(RuleId rule) const {
    return !limits_.left_out.empty() && limits_.left_out[rule.index()];
  }
  /// Whether a limit is reached that ends even the expansion of one graph.
  bool is_cut_short() const { return entries_.size() >= limits_.max_graphs || stopped_(); }
  bool stops();

  verifier::Admission& admission_;
  const rules::RuleSet& rules_;
  cost::CostModel& cost_;
  const RegionLimits& limits_;
  const std::function<bool()>& stopped_;
  const ops::SpecialValues& specials_;
  std::vector<std::optional<Carried>> carried_;  ///< By rule.
  // Of the graph that is being expanded:
  std::vector<int> taken_;                               ///< By rule: matches.
  std::map<std::pair<std::size_t, double>, int> alike_;  ///< By rule and cost: successors.
  RegionResult result_;
  std::vector<std::unique_ptr<Entry>> entries_;  ///< By serial.
  std::unordered_multimap<std::uint64_t, const Entry*> seen_;
  std::set<const Entry*, MorePromising> queue_;  ///< Ways on from the best graph so far.
  std::set<const Entry*, Cheaper> later_;        ///< Everything else, for when none are left.
  const Entry* best_ = nullptr;
  std::uint64_t expanded_at_best_ = 0;
  double front_us_ = 0;  ///< Cost of the graph that the queue leads on from.
};

/// Null: the same graph was seen before. Equal hashes are no proof of it.
Entry* RegionSearch::add(Graph graph) {
  const std::uint64_t hash = graph.hash();
  const auto [first, last] = seen_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (same_structure(at->second->graph, graph)) return nullptr;
  entries_.push_back(std::make_unique<Entry>());
  Entry* entry = entries_.back().get();
  entry->graph = std::move(graph);
  entry->serial = entries_.size() - 1;
  seen_.emplace(hash, entry);
  return entry;
}

/// The graph with a match replaced, with its price; null: it does not fit, is not admitted, or was
/// seen before.
Entry* RegionSearch::build(const Entry& parent, RuleId rule, const rules::Match& match) {
  auto graph = rules::apply(parent.graph, rules_[rule], match);
  // Last, for what it asks may have to be proved; and before the graph counts as seen, which
  // another rule may reach as well.
  if (!graph || !admission_.admits(rule, match, verifier::specials_at(specials_, match)))
    return nullptr;
  ++result_.built;
  Entry* entry = add(*std::move(graph));
  if (entry == nullptr) {
    ++result_.duplicates;
    return nullptr;
  }
  entry->parent = &parent;
  entry->rewrite = {rule, match};
  entry->cost_us = cost_.graph_cost(entry->graph).total_us;
  return entry;
}

void RegionSearch::consider(const Entry& parent, RuleId rule, const rules::Match& match) {
  if (is_left_out(rule)) return;
  Entry* entry = build(parent, rule, match);
  if (entry == nullptr) return;
  if (entry->cost_us >= kRealGain * parent.settled_us &&
      ++alike_[{rule.index(), entry->cost_us}] > kMostAlike)
    return;
  settle(*entry, parent);
  if (carried_[rule.index()] && !carried_[rule.index()]->unites)
    carry(*entry, parent, *carried_[rule.index()]);
}

/// Decides what becomes of a graph that was made of `origin` in one move.
void RegionSearch::settle(Entry& entry, const Entry& origin) {
  if (entry.cost_us > most_us()) return;
  const bool gain = entry.cost_us < kRealGain * origin.settled_us;
  entry.settled_us = gain ? entry.cost_us : origin.settled_us;
  entry.pending = gain ? 0 : origin.pending + 1;
  if (entry.pending > limits_.max_detour) return;
  if (!gain) entry.changed = changed_since(origin, entry.graph);
  if (entry.cost_us < kRealGain * best_->cost_us) {
    best_ = &entry;
    expanded_at_best_ = result_.expanded;
  }
  enqueue(&entry);
}

/// What was carried past one operator is carried on as far as it goes, on all branches that it
/// took, whatever that costs on the way: all of it is one move. Of the graphs on the way the
/// cheapest counts as well.
void RegionSearch::carry(const Entry& from, const Entry& origin, const Carried& carried) {
  Entry *last = nullptr, *cheapest = nullptr;
  const Entry* at = &from;
  for (int k = 0; k < kMostCarried && !is_cut_short(); ++k) {
    Entry* next = carry_once(*at, origin, carried);
    if (next == nullptr) break;
    at = last = next;
    if (cheapest == nullptr || next->cost_us < cheapest->cost_us) cheapest = next;
  }
  if (last != nullptr) settle(*last, origin);
  if (cheapest != last) settle(*cheapest, origin);
}

/// What is carried and has the longest way before it comes first, so that equal ones meet, and
/// those that have met become one before they go on. Null: there is no further step.
Entry* RegionSearch::carry_once(const Entry& at, const Entry& origin, const Carried& carried) {
  std::vector<NodeId> changed = changed_since(origin, at.graph);
  if (carried.towards_inputs) std::ranges::reverse(changed);
  Entry* next = nullptr;
  for (const bool unites : {true, false}) {
    rules_.for_each_match_at(at.graph, changed, [&](RuleId rule, const rules::Match& match) {
      const std::optional<Carried>& its = carried_[rule.index()];
      const bool fits = its && its->op == carried.op && its->unites == unites &&
                        (unites || its->towards_inputs == carried.towards_inputs);
      if (fits && !is_left_out(rule)) next = build(at, rule, match);
      return next == nullptr && !is_cut_short();
    });
    if (next != nullptr) break;
  }
  return next;
}

/// A new best graph is where the search goes on; what was queued before starts from worse.
void RegionSearch::enqueue(const Entry* entry) {
  if (entry->cost_us < kRealGain * front_us_) {
    front_us_ = entry->cost_us;
    later_.insert(queue_.begin(), queue_.end());
    queue_.clear();
  }
  if (entry->settled_us <= front_us_) {
    queue_.insert(entry);
  } else {
    later_.insert(entry);
  }
}

/// When nothing leads on from the best graph, the cheapest of the others is gone back to.
void RegionSearch::backtrack() {
  if (!queue_.empty() || later_.empty()) return;
  queue_.insert(*later_.begin());
  later_.erase(later_.begin());
  front_us_ = (*queue_.begin())->settled_us;
}

void RegionSearch::expand(const Entry& entry) {
  std::ranges::fill(taken_, 0);
  alike_.clear();
  const auto take = [&](RuleId rule, const rules::Match& match) {
    if (++taken_[rule.index()] <= kMostOfOneRule) consider(entry, rule, match);
    return !is_cut_short();
  };
  if (entry.pending == 0) {
    rules_.for_each_match(entry.graph, take);
    if (!is_cut_short()) ++result_.expanded_whole;
  } else {
    rules_.for_each_match_at(entry.graph, entry.changed, take);
  }
  ++result_.expanded;
}

/// True: a limit is reached, which is noted.
bool RegionSearch::stops() {
  if (stopped_()) {
    result_.stop = RegionStop::kStopped;
  } else if (entries_.size() >= limits_.max_graphs) {
    result_.stop = RegionStop::kMemory;
  } else if (result_.expanded >= limits_.budget) {
    result_.stop = RegionStop::kBudget;
  } else if (result_.expanded - expanded_at_best_ >= limits_.patience) {
    result_.stop = RegionStop::kPatience;
  } else {
    return false;
  }
  return true;
}

RegionResult RegionSearch::run(const Graph& graph) {
  Entry* root = add(graph);
  root->cost_us = root->settled_us = front_us_ = cost_.graph_cost(graph).total_us;
  best_ = root;
  queue_.insert(root);
  while (!queue_.empty() && !stops()) {
    const Entry* entry = *queue_.begin();
    queue_.erase(queue_.begin());
    // The bound may have fallen since the entry was queued.
    if (entry->cost_us <= most_us()) expand(*entry);
    backtrack();
  }
  // An expansion that was broken off may leave nothing queued: that is not all there is.
  if (queue_.empty() && is_cut_short()) stops();
  result_.cost_before_us = root->cost_us;
  result_.cost_after_us = best_->cost_us;
  for (const Entry* at = best_; at->parent != nullptr; at = at->parent) {
    result_.steps.push_back({at->rewrite, nullptr, at->parent->cost_us - at->cost_us,
                             at->graph.node_bound(), at->graph.tensor_bound()});
  }
  std::ranges::reverse(result_.steps);
  return std::move(result_);
}

std::size_t splits_in(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.order(), [&](NodeId id) {
    return graph.node(id).op->movement == core::Movement::kSplit;
  }));
}

}  // namespace

std::vector<bool> merging_rules(const rules::RuleSet& rules) {
  std::vector<bool> merging;
  for (const rules::Rule& rule : rules.rules())
    merging.push_back(splits_in(rule.target) > splits_in(rule.source));
  return merging;
}

std::string_view to_string(RegionStop stop) {
  switch (stop) {
  case RegionStop::kExhausted:
    return "exhausted";
  case RegionStop::kPatience:
    return "patience";
  case RegionStop::kBudget:
    return "budget";
  case RegionStop::kMemory:
    return "memory";
  case RegionStop::kStopped:
    return "stopped";
  }
  return "";
}

RegionResult search_region(const Graph& graph, verifier::Admission& rules, cost::CostModel& cost,
                           const RegionLimits& limits, const std::function<bool()>& stopped,
                           const ops::SpecialValues& specials) {
  return RegionSearch(rules, cost, limits, stopped, specials).run(graph);
}

}  // namespace soapstone::search
