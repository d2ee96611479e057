// The search for plans, see searcher.h: in orders that lead far, and in any order by a beam.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/searcher.h"
#include "transforms/broadcasts/common_nodes.h"
#include "transforms/layout_changes/plain_moves.h"
#include "transforms/restrict/separation.h"

namespace soapstone::search {
namespace {

/// Of the best graphs, from which plans go on if they are nearly as good as the best.
constexpr std::size_t kMostEqual = 3;
/// Of all finders of a move: plans make room for plans.
constexpr int kPlanRounds = 3;
/// Moves from the graph with which the search begins.
constexpr int kMostMoves = 10;
/// Moves without a better graph behind which no more are made.
constexpr int kPatience = 3;
/// Graphs of one cost: most differ in little that matters.
constexpr std::ptrdiff_t kMostOfOneCost = 4;
/// Graphs from which moves are made, times their nodes, squared: both what there is to move and
/// what each move takes grow with the nodes.
constexpr std::size_t kMostWork = 4'000'000;
/// What a graph counts that is also put into the order that takes least memory.
constexpr std::size_t kWorkOfOrders = 8;

bool are_alike(const Candidate& a, const Candidate& b) {
  constexpr double kSame = 1e-4;
  return std::abs(a.cost_us - b.cost_us) <= kSame * a.cost_us &&
         a.score.peak_bytes == b.score.peak_bytes;
}

/// Of rules whose names begin so.
std::ptrdiff_t uses(const Candidate& candidate, std::string_view prefix) {
  return std::ranges::count_if(candidate.steps,
                               [&](const Step& step) { return step.rule.starts_with(prefix); });
}

/// A merge that was a gain may hide a larger one: of operators behind parts of a product that run
/// with products of their own, of which only some are merged again. Kind by kind.
std::map<std::string, std::vector<transforms::RewriteSequence>>
separation_by_kind(const core::Graph& graph) {
  std::map<std::string, std::vector<transforms::RewriteSequence>> kinds;
  for (transforms::RewriteSequence& plan : transforms::kSeparation.find(graph)) {
    std::string kind;
    for (const transforms::RewriteStep& step : plan.steps)
      kind += transforms::rule_name(step.texts.back());
    kinds[kind].push_back(std::move(plan));
  }
  return kinds;
}

/// Graphs that so many moves lead to.
class Beam {
 public:
  Beam(const Objective& objective, std::size_t width) : objective_(objective), width_(width) {}

  /// Unless it was added before.
  void add(Candidate candidate) {
    if (seen_.insert(candidate.graph.hash()).second) next_.push_back(std::move(candidate));
    // Those of a large graph take memory.
    if (next_.size() > kMostWaiting * width_) narrow();
  }
  /// Leaves the best of those that were added since the last move.
  void narrow() {
    std::ranges::stable_sort(
        next_, [this](const Score& a, const Score& b) { return objective_.is_better(a, b); },
        &Candidate::score);
    std::vector<Candidate> kept;
    for (Candidate& candidate : next_) {
      if (kept.size() == width_) break;
      const auto alike = std::ranges::count_if(
          kept, [&](const Candidate& other) { return are_alike(candidate, other); });
      if (alike < kMostOfOneCost) kept.push_back(std::move(candidate));
    }
    next_ = std::move(kept);
  }
  const std::vector<Candidate>& graphs() const { return next_; }
  std::vector<Candidate> take() { return std::exchange(next_, {}); }
  /// What was taken, before what was added since.
  void put_back(std::vector<Candidate> taken) {
    taken.insert(taken.end(), std::move_iterator(next_.begin()), std::move_iterator(next_.end()));
    next_ = std::move(taken);
  }

 private:
  static constexpr std::size_t kMostWaiting = 8;
  const Objective& objective_;
  std::size_t width_;
  std::set<std::uint64_t> seen_;  ///< Hashes of graphs.
  std::vector<Candidate> next_;
};

}  // namespace

bool Searcher::is_tried(const transforms::Transform& transform) const {
  return !options_.tries || options_.tries(transform);
}

/// With moves made one after the other, whose rules may not be proved. Thread-safe.
Candidate Searcher::drafted(Candidate from, Moves moves) {
  const auto is_stopped = [this] { return stopped(); };
  for (const PlanMove& move : moves) {
    for (int round = 0; round < (move.must_pay ? kPlanRounds : 1); ++round) {
      const std::size_t steps = from.steps.size();
      for (const transforms::Transform* const transform : move.transforms) {
        if (stopped()) return from;
        if (!is_tried(*transform)) continue;
        from = move.must_pay ? plans_.take(from, *transform, stage_, is_stopped)
                             : plans_.carry_out(from, transform->find(from.graph), stage_);
      }
      if (from.steps.size() == steps) break;
    }
  }
  return from;
}

/// On all threads.
std::vector<Candidate> Searcher::all_of(const std::vector<Drafting>& drafts) {
  std::vector<Candidate> made(drafts.size());
  const auto make = [&](std::size_t k) { made[k] = drafts[k](); };
  if (cost_.needs_quiet_machine()) {
    for (std::size_t k = 0; k < drafts.size(); ++k) make(k);
  } else {
    crew_.each(drafts.size(), make);
  }
  return made;
}

/// The draft, if all its rules are proved; otherwise what is drafted without those that are not.
/// None: stopped.
std::optional<Candidate> Searcher::proved(Candidate draft, const Drafting& again) {
  const auto is_drafted = [](const Step& step) { return step.draft != nullptr; };
  if (std::ranges::none_of(draft.steps, is_drafted)) return draft;
  crew_.rest();  // rules are added, which nobody may read meanwhile
  while (!stopped() && !plans_.prove(draft, crew_)) draft = plans_.drafted_with_proofs(again);
  work_when_idle();
  if (stopped()) return std::nullopt;
  return draft;
}

/// With plans carried out in orders that lead far, and with rules from what they come to. One kind
/// may hide what the other finds, or what the passes find; what computes less is a start of its
/// own.
void Searcher::go_on_from_plans(const Rung& rung, const Candidate& from) {
  if (!options_.admits_made) return;
  std::set<std::uint64_t> begun, seen;
  std::vector<Drafting> starts;
  for (const Moves moves : plan_starts())
    starts.emplace_back([this, &from, moves] { return drafted(from, moves); });
  std::vector<Candidate> started = all_of(starts);
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const auto proved_start = proved(std::move(started[s]), starts[s]);
    if (!proved_start) return;
    const Candidate& start = *proved_start;
    seen.insert(start.graph.hash());
    if (!begun.insert(start.graph.hash()).second) continue;
    std::vector<Drafting> ends;
    for (const PlanMove& order : plan_orders())
      ends.emplace_back([this, &start, &order] { return drafted(start, {&order, 1}); });
    std::vector<Candidate> ended = all_of(ends);
    for (std::size_t k = 0; k < ends.size(); ++k) {
      if (stopped() || is_enough()) return;
      const std::string_view needs = plan_orders()[k].needs;
      const auto leads_elsewhere = [&](const Candidate& end) {
        return uses(end, needs) > uses(start, needs) && !seen.contains(end.graph.hash());
      };
      if (!leads_elsewhere(ended[k])) {
        ended[k] = {};  // large graphs take memory
        continue;
      }
      auto end = proved(std::move(ended[k]), ends[k]);
      if (!end) return;
      if (!leads_elsewhere(*end)) continue;
      now_ = *std::move(end);
      seen.insert(now_.graph.hash());
      remember(now_);
      improve_in_turns(rung);
    }
    plans_.clear_graphs();
  }
}

/// As long as plans lead on from the best graph, which is often another one than they were made for
/// before, or from one that is as good.
void Searcher::go_on_from_best(const Rung& rung) {
  const auto next = [&]() -> const Candidate* {
    const auto& best = result_.best;
    for (std::size_t k = 0; k < std::min(best.size(), kMostEqual); ++k)
      if (is_nearly_as_good(best[k], best.front()) &&
          gone_on_from_.insert(best[k].graph.hash()).second)
        return &best[k];
    return nullptr;
  };
  while (!stopped()) {
    const Candidate* from = next();
    if (from == nullptr) break;
    go_on_from_plans(rung, Candidate(*from));
  }
}

/// One move from each graph of the beam, whichever it is: plans take many steps that cost more
/// until the last one is taken, and one kind may hide what another one finds, or what rules find.
/// So the best go on by rules as well.
void Searcher::search_plans(const Rung& rung, const Candidate& from) {
  if (!options_.admits_made || rung.beam == 0) return;
  const std::size_t nodes = std::max<std::size_t>(from.graph.order().size(), 1);
  const std::size_t most = kMostWork / (objective_.needs_memory() ? kWorkOfOrders : 1);
  std::size_t left = std::max<std::size_t>(most / (nodes * nodes), 1);
  Beam beam(objective_, std::clamp<std::size_t>(left / kPatience, 1, rung.beam));
  static const PlanMove kOnce{{&transforms::kCommonNodes}, false};
  beam.add(with_moves(from, {&kOnce, 1}));
  std::set<std::uint64_t> undone;  // graphs of which merges were undone
  Score best = from.score;
  const auto is_done = [&] { return stopped() || is_enough(); };
  for (int moves = 0, idle = 0; moves < kMostMoves && idle < kPatience; ++moves, ++idle) {
    std::vector<Candidate> graphs = beam.take();
    graphs.resize(std::min(graphs.size(), left));
    left -= graphs.size();
    if (graphs.empty()) break;
    plans_.clear();                            // what is made of graphs is not asked for again
    std::map<std::uint64_t, Drafting> drafts;  // by hash of what they make
    const auto add = [&](Candidate made, const Drafting& draft) {
      drafts.try_emplace(made.graph.hash(), draft);
      beam.add(std::move(made));
    };
    for (const Candidate& graph : graphs) {
      if (is_done()) return;
      std::vector<Drafting> ways;
      for (const PlanMove& move : plan_moves())
        ways.emplace_back([this, &graph, &move] { return drafted(graph, {&move, 1}); });
      std::vector<Candidate> made = all_of(ways);
      for (std::size_t k = 0; k < ways.size(); ++k) add(std::move(made[k]), ways[k]);
    }
    const Candidate merged = result_.best.empty() ? from : result_.best.front();
    if (is_tried(transforms::kSeparation) && undone.insert(merged.graph.hash()).second) {
      for (const auto& [ignored, plans] : separation_by_kind(merged.graph)) {
        const Drafting apart = [this, &merged, plans] {
          return plans_.carry_out(merged, plans, stage_);
        };
        add(apart(), apart);
      }
    }
    beam.narrow();
    std::vector<Candidate> next = beam.take();
    for (Candidate& graph : next) {
      if (is_done()) return;
      const Drafting& again = drafts.at(graph.graph.hash());
      auto now = proved(std::move(graph), again);
      if (!now) return;
      graph = now_ = *std::move(now);
      remember(now_);
      if (!rung.turns.empty()) improve_until_settled(rung.turns.front());
      beam.add(now_);
    }
    beam.put_back(std::move(next));
    beam.narrow();
    if (!beam.graphs().empty() && objective_.is_better(beam.graphs().front().score, best)) {
      best = beam.graphs().front().score;
      idle = -1;
    }
  }
}

/// Of the best graph: what moves nothing costs nothing, and is seen by whoever reads the model.
void Searcher::leave_idle_moves_out() {
  if (result_.best.empty() || !options_.admits_made || stopped()) return;
  Candidate& best = result_.best.front();
  static const PlanMove kIdle{{&transforms::kIdleLayoutChanges}, false};
  Candidate tidy = with_moves(best, {&kIdle, 1});
  if (tidy.steps.size() > best.steps.size() && !objective_.is_better(best.score, tidy.score))
    best = std::move(tidy);
}

}  // namespace soapstone::search
