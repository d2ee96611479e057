// Variables are eliminated in rounds, so that equal blocks are treated in the same order and share
// their tables.
#include "parallel/elimination/remaining_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::parallel {

RemainingGraph::RemainingGraph(const CostGraph& graph, CostTables& tables,
                               const std::vector<CostVariableId>& first)
    : tables_(&tables), neighbors_(graph.size()), is_gone_(graph.size(), false),
      touched_(graph.size(), 0) {
  for (std::size_t v = 0; v < graph.size(); ++v) own_.push_back(graph.own(CostVariableId(v)));
  for (const CostGraph::Edge& e : graph.edges()) connect(e.a.value, e.b.value, e.costs);
  for (const CostVariableId v : first) eliminate(v.value);
  std::vector<std::uint32_t> all(graph.size());
  std::iota(all.begin(), all.end(), 0);
  reduce(all);
  for (const std::uint32_t v : all)
    if (!is_gone_[v]) hubs_.push({neighbors_[v].size(), v});
}

void RemainingGraph::connect(std::uint32_t a, std::uint32_t b, CostTableId costs) {
  const auto join = [&](std::uint32_t from, std::uint32_t to, CostTableId table) {
    for (Neighbor& n : neighbors_[from])
      if (n.variable == to) {
        n.costs = tables_->sum(n.costs, table);
        return;
      }
    neighbors_[from].push_back({to, table});
  };
  join(a, b, costs);
  join(b, a, tables_->transposed(costs));
}

void RemainingGraph::disconnect(std::uint32_t a, std::uint32_t b) {
  std::erase_if(neighbors_[a], [&](const Neighbor& n) { return n.variable == b; });
}

/// Eliminates all that it can, in rounds, of `next` and what becomes simple through that.
/// Precondition: all others have more than two neighbors.
void RemainingGraph::reduce(std::vector<std::uint32_t> next) {
  while (!next.empty()) {
    ++round_;
    std::vector<std::uint32_t> now = std::exchange(next, {});
    std::ranges::sort(now);
    for (const std::uint32_t v : now) {
      if (is_gone_[v] || neighbors_[v].size() > 2 || touched_[v] == round_) continue;
      for (const Neighbor& n : neighbors_[v]) {
        if (touched_[n.variable] != round_) next.push_back(n.variable);
        touched_[n.variable] = round_;
      }
      eliminate(v);
    }
  }
}

void RemainingGraph::eliminate(std::uint32_t v) {
  const std::vector<Neighbor> around = std::move(neighbors_[v]);
  neighbors_[v].clear();
  is_gone_[v] = true;
  for (const Neighbor& n : around) disconnect(n.variable, v);
  Gone gone{v, {}, {}, {}, own_[v], {}, nullptr};
  if (!around.empty()) gone.left = around[0].variable;
  if (around.size() == 2) gone.right = around[1].variable;
  // A variable without a neighbor on a side has one with a single choice there.
  const CostTableId nothing = tables_->zeros((*tables_)[own_[v]].columns);
  gone.left_costs = tables_->transposed(gone.left ? around[0].costs : nothing);
  gone.right_costs = gone.right ? around[1].costs : nothing;
  gone.minimum = &tables_->through(gone.left_costs, gone.own, gone.right_costs);
  gone_.push_back(gone);
  if (gone.right)
    connect(*gone.left, *gone.right, gone.minimum->costs);
  else if (gone.left)
    own_[*gone.left] = tables_->sum(own_[*gone.left], tables_->transposed(gone.minimum->costs));
  else
    cost_ += (*tables_)[gone.minimum->costs].costs[0];
}

std::vector<std::uint32_t> RemainingGraph::left() const {
  std::vector<std::uint32_t> left;
  for (std::uint32_t v = 0; v < size(); ++v)
    if (!is_gone_[v]) left.push_back(v);
  return left;
}

std::optional<std::uint32_t> RemainingGraph::most_neighbors() {
  while (!hubs_.empty()) {
    const auto [degree, v] = hubs_.top();
    const std::size_t now = neighbors_[v].size();
    if (!is_gone_[v] && degree == now) return v;
    hubs_.pop();
    if (!is_gone_[v]) hubs_.push({now, v});
  }
  return std::nullopt;
}

void RemainingGraph::fix(std::uint32_t v, std::uint32_t choice) {
  cost_ += (*tables_)[own_[v]].costs[choice];
  std::vector<std::uint32_t> changed;
  for (const Neighbor& n : neighbors_[v]) {
    const CostTable& costs = (*tables_)[n.costs];
    const auto row = costs.costs.begin() + static_cast<std::ptrdiff_t>(choice * costs.columns);
    CostTable line{1, costs.columns, {row, row + static_cast<std::ptrdiff_t>(costs.columns)}};
    disconnect(n.variable, v);
    own_[n.variable] = tables_->sum(own_[n.variable], tables_->intern(std::move(line)));
    changed.push_back(n.variable);
  }
  neighbors_[v].clear();
  is_gone_[v] = true;
  gone_.push_back({v, {}, {}, {}, own_[v], {}, nullptr, choice});
  reduce(std::move(changed));
}

Assignment RemainingGraph::traced_back() const {
  Assignment result{std::vector<std::uint32_t>(size(), 0), cost_, cost_};
  if (cost_ == kImpossible) return result;
  for (std::size_t at = gone_.size(); at-- > 0;) choose_least(at, result.choices);
  return result;
}

std::size_t RemainingGraph::choices_of_gone(std::size_t at) const {
  return (*tables_)[gone_[at].own].columns;
}

std::size_t RemainingGraph::place_of_minimum(const Gone& gone,
                                             const std::vector<std::uint32_t>& choices) const {
  const std::size_t row = gone.left ? choices[*gone.left] : 0;
  const std::size_t column = gone.right ? choices[*gone.right] : 0;
  return row * (*tables_)[gone.minimum->costs].columns + column;
}

double RemainingGraph::more_than_least(std::size_t at,
                                       const std::vector<std::uint32_t>& choices) const {
  const Gone& gone = gone_[at];
  const std::uint32_t choice = choices[gone.variable];
  if (!gone.minimum) return choice == gone.choice ? 0 : kImpossible;
  const double least = (*tables_)[gone.minimum->costs].costs[place_of_minimum(gone, choices)];
  if (least == kImpossible) return kImpossible;
  // Summed as in CostTables::through(), so that the best choice costs nothing more.
  const double here = (*tables_)[gone.left_costs].at(gone.left ? choices[*gone.left] : 0, choice) +
                      (*tables_)[gone.own].costs[choice];
  return here + (*tables_)[gone.right_costs].at(choice, gone.right ? choices[*gone.right] : 0) -
         least;
}

void RemainingGraph::choose_least(std::size_t at, std::vector<std::uint32_t>& choices) const {
  const Gone& gone = gone_[at];
  choices[gone.variable] =
      gone.minimum ? gone.minimum->argument[place_of_minimum(gone, choices)] : gone.choice;
}

}  // namespace soapstone::parallel
