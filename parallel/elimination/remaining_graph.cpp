// Variables are eliminated in rounds, so that equal blocks are treated in the same order and share
// their tables.
#include "parallel/elimination/remaining_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::parallel {

RemainingGraph::RemainingGraph(const CostGraph& graph, CostTables& tables)
    : tables_(&tables), neighbors_(graph.size()), is_gone_(graph.size(), false),
      touched_(graph.size(), 0) {
  for (std::size_t v = 0; v < graph.size(); ++v) own_.push_back(graph.own(CostVariableId(v)));
  for (const CostGraph::Edge& e : graph.edges()) connect(e.a.value, e.b.value, e.costs);
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
  Step step{v, {}, {}, nullptr};
  if (!around.empty()) step.left = around[0].variable;
  if (around.size() == 2) step.right = around[1].variable;
  // A variable without a neighbor on a side has one with a single choice there.
  const CostTableId nothing = tables_->zeros((*tables_)[own_[v]].columns);
  const CostTableId left = tables_->transposed(step.left ? around[0].costs : nothing);
  const CostTableId right = step.right ? around[1].costs : nothing;
  step.minimum = &tables_->through(left, own_[v], right);
  steps_.push_back(step);
  if (step.right)
    connect(*step.left, *step.right, step.minimum->costs);
  else if (step.left)
    own_[*step.left] = tables_->sum(own_[*step.left], tables_->transposed(step.minimum->costs));
  else
    cost_ += (*tables_)[step.minimum->costs].costs[0];
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
  steps_.push_back({v, {}, {}, nullptr, choice});
  reduce(std::move(changed));
}

Assignment RemainingGraph::traced_back() const {
  Assignment result{std::vector<std::uint32_t>(size(), 0), cost_, cost_};
  if (cost_ == kImpossible) return result;
  for (std::size_t k = steps_.size(); k-- > 0;) {
    const Step& step = steps_[k];
    std::uint32_t& choice = result.choices[step.variable];
    choice = step.choice;
    if (!step.minimum) continue;
    const std::size_t row = step.left ? result.choices[*step.left] : 0;
    const std::size_t column = step.right ? result.choices[*step.right] : 0;
    choice = step.minimum->argument[row * (*tables_)[step.minimum->costs].columns + column];
  }
  return result;
}

}  // namespace soapstone::parallel
