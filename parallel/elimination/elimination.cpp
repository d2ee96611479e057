// Where every variable that elimination leaves has three neighbors or more, messages say how good
// an assignment can be and find a good one; where that leaves a gap, a variable is taken apart by
// cases.
#include <algorithm>
#include <optional>
#include <utility>

#include "parallel/elimination/cost_graph.h"
#include "parallel/elimination/messages.h"
#include "parallel/elimination/remaining_graph.h"

namespace soapstone::parallel {
namespace {

/// A change has to gain more than sums in another order differ.
constexpr double kRounding = 1e-12;
/// How far a cost may be from the bound, as a share, for messages to end: where nothing more is
/// tried, and where cases follow.
constexpr double kGoodEnough = 1e-4, kProved = 1e-9;
/// How often choices of many variables are made again.
constexpr int kRoundsOfMany = 3;

class Eliminator {
 public:
  Eliminator(const CostGraph& graph, CostTables& tables, const EliminationOptions& options)
      : graph_(graph), tables_(tables), cases_left_(options.most_cases),
        gap_(options.most_cases == 0 ? kGoodEnough : kProved) {}

  Assignment run() {
    Assignment best = solve(RemainingGraph(graph_, tables_), kImpossible);
    if (best.cost == kImpossible) return best;
    if (best.cost - best.lower_bound > gap_ * best.cost) improve_many(best);
    if (best.cost - best.lower_bound > kProved * best.cost) improve_single(best);
    best.cost = graph_.cost_of(tables_, best.choices);
    best.lower_bound = std::min(best.lower_bound, best.cost);
    return best;
  }

 private:
  /// Nothing that costs `limit` is of use.
  Assignment solve(RemainingGraph rest, double limit) {
    const std::optional<std::uint32_t> center = rest.most_neighbors();
    if (!center) return rest.traced_back();
    Assignment best = by_messages(rest);
    const std::size_t choices = tables_[rest.own(*center)].columns;
    const double least = std::min(best.cost, limit);
    const bool is_proved = least < kImpossible && least - best.lower_bound <= kProved * least;
    if (is_proved || choices > cases_left_) return best;
    cases_left_ -= choices;
    double least_bound = kImpossible;
    for (std::uint32_t c = 0; c < choices; ++c) {
      RemainingGraph fixed = rest;
      fixed.fix(*center, c);
      const double so_far = std::min(best.cost, limit);
      if (fixed.cost() >= so_far) {
        least_bound = std::min(least_bound, fixed.cost());
        continue;
      }
      Assignment found = solve(std::move(fixed), so_far);
      least_bound = std::min(least_bound, found.lower_bound);
      if (found.cost >= best.cost) continue;
      best.cost = found.cost;
      best.choices = std::move(found.choices);
    }
    best.lower_bound = std::max(best.lower_bound, least_bound);
    return best;
  }

  /// Variables in the way get what messages say, the rest its best beside them.
  Assignment by_messages(RemainingGraph rest) const {
    Messages messages(rest, tables_);
    messages.pass(gap_);
    while (const auto center = rest.most_neighbors())
      rest.fix(*center, messages.choices()[*center]);
    Assignment found = rest.traced_back();
    found.lower_bound = std::min(messages.lower_bound(), found.cost);
    return found;
  }

  /// A few times, variables in the way keep their choices, others each time, and the rest gets the
  /// best choices beside these at once.
  void improve_many(Assignment& a) const {
    const RemainingGraph whole(graph_, tables_);
    std::vector<std::uint32_t> in_the_way = whole.left();
    std::vector<int> kept(graph_.size(), 0);
    const auto most_neighbors_first = [&](std::uint32_t v, std::uint32_t w) {
      if (kept[v] != kept[w]) return kept[v] < kept[w];
      return whole.neighbors(v).size() > whole.neighbors(w).size();
    };
    for (int round = 0; round < kRoundsOfMany; ++round) {
      std::ranges::stable_sort(in_the_way, most_neighbors_first);
      RemainingGraph rest = whole;
      for (const std::uint32_t v : in_the_way) {
        if (rest.is_gone(v)) continue;
        ++kept[v];
        rest.fix(v, a.choices[v]);
      }
      Assignment found = rest.traced_back();
      if (found.cost >= a.cost) continue;
      a.cost = found.cost;
      a.choices = std::move(found.choices);
    }
  }

  /// Changes single variables as long as that lowers the cost.
  void improve_single(Assignment& a) const {
    std::vector<std::vector<std::pair<std::uint32_t, bool>>> edges_of(graph_.size());
    for (std::uint32_t e = 0; e < graph_.edges().size(); ++e) {
      edges_of[graph_.edges()[e].a.index()].push_back({e, true});
      edges_of[graph_.edges()[e].b.index()].push_back({e, false});
    }
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::uint32_t v = 0; v < graph_.size(); ++v) {
        const auto cost_with = [&](std::uint32_t choice) {
          double cost = tables_[graph_.own(CostVariableId(v))].costs[choice];
          for (const auto& [e, is_row] : edges_of[v]) {
            const CostGraph::Edge& edge = graph_.edges()[e];
            cost += is_row ? tables_[edge.costs].at(choice, a.choices[edge.b.index()])
                           : tables_[edge.costs].at(a.choices[edge.a.index()], choice);
          }
          return cost;
        };
        const double now = cost_with(a.choices[v]);
        const auto choices =
            static_cast<std::uint32_t>(tables_[graph_.own(CostVariableId(v))].columns);
        for (std::uint32_t c = 0; c < choices; ++c) {
          const double then = cost_with(c);
          if (then >= now * (1 - kRounding)) continue;
          a.choices[v] = c;
          goes_on = true;
          break;
        }
      }
    }
  }

  const CostGraph& graph_;
  CostTables& tables_;
  std::size_t cases_left_;
  const double gap_;
};

}  // namespace

Assignment least_assignment(const CostGraph& graph, CostTables& tables,
                            const EliminationOptions& options) {
  return Eliminator(graph, tables, options).run();
}

}  // namespace soapstone::parallel
