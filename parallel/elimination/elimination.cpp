// Eliminates variables with at most two neighbors, in rounds, so that equal blocks are treated in
// the same order and share their tables. Where every variable has three neighbors or more, one of
// them is taken apart by cases, or split in two for a bound.
#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "core/base/check.h"
#include "parallel/elimination/cost_graph.h"

namespace soapstone::parallel {
namespace {

/// A change has to gain more than sums in another order differ.
constexpr double kRounding = 1e-12;

struct Neighbor {
  std::uint32_t variable;
  CostTableId costs;  ///< Rows: choices of the variable whose neighbor it is.
};

/// What is left of a cost graph, and how what is gone follows from what is left.
struct Remains {
  std::vector<CostTableId> own;
  std::vector<std::vector<Neighbor>> neighbors;
  std::vector<bool> is_gone;
  /// Who has the most neighbors, of equals the first one. Nobody ever gets more, so degrees here
  /// are at least those of now.
  struct Hub {
    std::size_t degree;
    std::uint32_t variable;
    bool operator<(const Hub& other) const {
      return degree != other.degree ? degree < other.degree : variable > other.variable;
    }
  };
  std::priority_queue<Hub> hubs;
  struct Step {
    std::uint32_t variable;
    std::optional<std::uint32_t> left, right;
    const CostTables::Minimum* minimum;  ///< Null: `choice` is fixed.
    std::uint32_t choice = 0;
  };
  std::vector<Step> steps;
  double cost = 0;
};

class Eliminator {
 public:
  Eliminator(const CostGraph& graph, CostTables& tables, const EliminationOptions& options)
      : graph_(graph), tables_(tables), cases_left_(options.most_cases) {}

  Assignment run() {
    Remains start;
    const std::size_t count = graph_.size();
    start.neighbors.resize(count);
    start.is_gone.resize(count, false);
    for (std::size_t v = 0; v < count; ++v) start.own.push_back(graph_.own(CostVariableId(v)));
    for (const CostGraph::Edge& e : graph_.edges()) connect(start, e.a.value, e.b.value, e.costs);
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    reduce(start, all);
    for (const std::uint32_t v : all)
      if (!start.is_gone[v]) start.hubs.push({start.neighbors[v].size(), v});
    Assignment best = solve(std::move(start));
    if (best.cost == kImpossible) return best;
    improve(best);
    best.lower_bound = std::min(best.lower_bound, best.cost);
    return best;
  }

 private:
  void connect(Remains& r, std::uint32_t a, std::uint32_t b, CostTableId costs) {
    const auto join = [&](std::uint32_t from, std::uint32_t to, CostTableId table) {
      for (Neighbor& n : r.neighbors[from])
        if (n.variable == to) {
          n.costs = tables_.sum(n.costs, table);
          return;
        }
      r.neighbors[from].push_back({to, table});
    };
    join(a, b, costs);
    join(b, a, tables_.transposed(costs));
  }

  static void disconnect(Remains& r, std::uint32_t a, std::uint32_t b) {
    std::erase_if(r.neighbors[a], [&](const Neighbor& n) { return n.variable == b; });
  }

  /// Eliminates all that it can, in rounds, of `next` and what becomes simple through that.
  /// Precondition: all others have more than two neighbors.
  void reduce(Remains& r, std::vector<std::uint32_t> next) {
    touched_.resize(r.own.size(), 0);
    while (!next.empty()) {
      ++round_;
      std::vector<std::uint32_t> now = std::exchange(next, {});
      std::ranges::sort(now);
      for (const std::uint32_t v : now) {
        if (r.is_gone[v] || r.neighbors[v].size() > 2 || touched_[v] == round_) continue;
        for (const Neighbor& n : r.neighbors[v]) {
          if (touched_[n.variable] != round_) next.push_back(n.variable);
          touched_[n.variable] = round_;
        }
        eliminate(r, v);
      }
    }
  }

  void eliminate(Remains& r, std::uint32_t v) {
    const std::vector<Neighbor> around = std::move(r.neighbors[v]);
    r.neighbors[v].clear();
    r.is_gone[v] = true;
    for (const Neighbor& n : around) disconnect(r, n.variable, v);
    Remains::Step step{v, {}, {}, nullptr};
    if (!around.empty()) step.left = around[0].variable;
    if (around.size() == 2) step.right = around[1].variable;
    // A variable without a neighbor on a side has one with a single choice there.
    const CostTableId nothing = tables_.zeros(tables_[r.own[v]].columns);
    const CostTableId left =
        step.left ? tables_.transposed(around[0].costs) : tables_.transposed(nothing);
    const CostTableId right = step.right ? around[1].costs : nothing;
    step.minimum = &tables_.through(left, r.own[v], right);
    r.steps.push_back(step);
    if (step.right)
      connect(r, *step.left, *step.right, step.minimum->costs);
    else if (step.left)
      r.own[*step.left] = tables_.sum(r.own[*step.left], tables_.transposed(step.minimum->costs));
    else
      r.cost += tables_[step.minimum->costs].costs[0];
  }

  /// Precondition: reduced.
  Assignment solve(Remains r) {
    const std::optional<std::uint32_t> center = most_neighbors(r);
    if (!center) return traced_back(r);
    const std::size_t choices = tables_[r.own[*center]].columns;
    if (choices > cases_left_) return relaxed(std::move(r));
    cases_left_ -= choices;
    Assignment best;
    best.lower_bound = kImpossible;
    for (std::uint32_t c = 0; c < choices; ++c) {
      Remains fixed = r;
      fix(fixed, *center, c);
      if (fixed.cost >= best.cost) continue;
      Assignment found = solve(std::move(fixed));
      best.lower_bound = std::min(best.lower_bound, found.lower_bound);
      if (found.cost < best.cost) {
        best.cost = found.cost;
        best.choices = std::move(found.choices);
      }
    }
    return best;
  }

  static std::optional<std::uint32_t> most_neighbors(Remains& r) {
    while (!r.hubs.empty()) {
      const auto [degree, v] = r.hubs.top();
      const std::size_t now = r.neighbors[v].size();
      if (!r.is_gone[v] && degree == now) return v;
      r.hubs.pop();
      if (!r.is_gone[v]) r.hubs.push({now, v});
    }
    return std::nullopt;
  }

  /// Gives a variable a choice, and reduces.
  void fix(Remains& r, std::uint32_t v, std::uint32_t choice) {
    const CostTable& own = tables_[r.own[v]];
    r.cost += own.costs[choice];
    std::vector<std::uint32_t> changed;
    for (const Neighbor& n : r.neighbors[v]) {
      const CostTable& costs = tables_[n.costs];
      const auto row = costs.costs.begin() + static_cast<std::ptrdiff_t>(choice * costs.columns);
      CostTable line{1, costs.columns, {row, row + static_cast<std::ptrdiff_t>(costs.columns)}};
      disconnect(r, n.variable, v);
      r.own[n.variable] = tables_.sum(r.own[n.variable], tables_.intern(std::move(line)));
      changed.push_back(n.variable);
    }
    r.neighbors[v].clear();
    r.is_gone[v] = true;
    r.steps.push_back({v, {}, {}, nullptr, choice});
    reduce(r, std::move(changed));
  }

  /// A good assignment and a bound where cases would be too many. Variables are split into two that
  /// may differ until elimination gets through: that costs no more than any assignment. Then the
  /// split ones get the choices of their first halves, as does what is in the way even then, and
  /// the rest its best.
  Assignment relaxed(Remains r) {
    Remains loose = r;
    std::vector<std::uint32_t> split;
    while (const auto center = most_neighbors(loose)) {
      if (*center < graph_.size()) split.push_back(*center);
      halve(loose, *center);
    }
    Assignment bound = traced_back(loose);
    if (bound.cost == kImpossible) return bound;
    for (const std::uint32_t v : split)
      if (!r.is_gone[v]) fix(r, v, bound.choices[v]);
    while (const auto center = most_neighbors(r)) fix(r, *center, bound.choices[*center]);
    Assignment found = traced_back(r);
    found.lower_bound = bound.cost;
    return found;
  }

  /// Half of the neighbors and half of the costs go to a new variable; reduces.
  void halve(Remains& r, std::uint32_t v) {
    const auto copy = static_cast<std::uint32_t>(r.own.size());
    CostTable half = tables_[r.own[v]];
    for (double& cost : half.costs) cost /= 2;
    r.own[v] = tables_.intern(std::move(half));
    r.own.push_back(r.own[v]);
    r.neighbors.emplace_back();
    r.is_gone.push_back(false);
    const std::vector<Neighbor> around = r.neighbors[v];
    r.hubs.push({around.size() - around.size() / 2, copy});
    std::vector<std::uint32_t> changed{v, copy};
    for (std::size_t k = around.size() / 2; k < around.size(); ++k) {
      disconnect(r, v, around[k].variable);
      disconnect(r, around[k].variable, v);
      connect(r, copy, around[k].variable, around[k].costs);
      changed.push_back(around[k].variable);
    }
    reduce(r, std::move(changed));
  }

  /// Precondition: all variables are gone.
  Assignment traced_back(const Remains& r) const {
    Assignment result{std::vector<std::uint32_t>(r.own.size(), 0), r.cost, r.cost};
    if (r.cost == kImpossible) return result;
    for (std::size_t k = r.steps.size(); k-- > 0;) {
      const Remains::Step& step = r.steps[k];
      std::uint32_t& choice = result.choices[step.variable];
      choice = step.choice;
      if (!step.minimum) continue;
      const std::size_t row = step.left ? result.choices[*step.left] : 0;
      const std::size_t column = step.right ? result.choices[*step.right] : 0;
      choice = step.minimum->argument[row * tables_[step.minimum->costs].columns + column];
    }
    return result;
  }

  /// Changes single variables as long as that lowers the cost: of use only behind a relaxation.
  void improve(Assignment& a) const {
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
    a.cost = graph_.cost_of(tables_, a.choices);
  }

  const CostGraph& graph_;
  CostTables& tables_;
  std::size_t cases_left_;
  std::size_t round_ = 0;
  std::vector<std::size_t> touched_;  ///< By variable: the last round that changed it.
};

}  // namespace

Assignment least_assignment(const CostGraph& graph, CostTables& tables,
                            const EliminationOptions& options) {
  return Eliminator(graph, tables, options).run();
}

}  // namespace soapstone::parallel
