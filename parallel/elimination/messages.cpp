#include "parallel/elimination/messages.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

constexpr int kMostSweeps = 24;
/// A sweep that raises the bound by less, as a share, is one of the last.
constexpr double kLittle = 1e-4;
constexpr int kIdleSweeps = 3;
/// What sums of messages may be off, as a share of the largest cost that is in them.
constexpr double kRoundingOfSums = 1e-12;

}  // namespace

Messages::Messages(const RemainingGraph& graph, CostTables& tables)
    : graph_(graph), tables_(tables), now_(graph.size(), 0), best_(now_) {
  for (auto& edges : edges_of_) edges.resize(graph.size());
  const auto largest = [&](CostTableId id) {
    double most = 0;
    for (const double cost : tables_[id].costs)
      if (cost < kImpossible) most = std::max(most, cost);
    return most;
  };
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    if (graph.is_gone(v)) continue;
    variables_.push_back(v);
    ceiling_ += largest(graph.own(v));
    for (const RemainingGraph::Neighbor& n : graph.neighbors(v)) {
      if (n.variable < v) continue;
      Edge edge{{v, n.variable}, {n.costs, tables_.transposed(n.costs)}, {}};
      for (int end : {0, 1}) {
        edge.message[end].assign(tables_[edge.costs[end]].rows, 0.0);
        edges_of_[end][edge.ends[end]].push_back(edges_.size());
      }
      ceiling_ += largest(n.costs);
      edges_.push_back(std::move(edge));
    }
  }
  largest_ceiling_ = ceiling_;
}

void Messages::pass(double gap) {
  for (int k = 0, idle = 0; k < kMostSweeps && idle < kIdleSweeps; ++k) {
    const double bound_before = best_bound_, cost_before = cost_;
    for (const int direction : {0, 1}) {
      sweep(direction);
      rate_choices();
    }
    if (cost_ - lower_bound() <= gap * cost_) return;
    const bool is_idle =
        cost_ == cost_before && best_bound_ - bound_before <= kLittle * best_bound_;
    idle = is_idle ? idle + 1 : 0;
  }
}

double Messages::lower_bound() const {
  return std::max(0.0, best_bound_ - kRoundingOfSums * largest_ceiling_);
}

/// From the first variable to the last (direction 0), or back.
void Messages::sweep(int direction) {
  bound_ = graph_.cost();
  const std::size_t count = variables_.size();
  for (std::size_t k = 0; k < count; ++k)
    visit(variables_[direction == 0 ? k : count - 1 - k], direction);
  best_bound_ = std::max(best_bound_, bound_);
}

/// What the variable costs with all that neighbors say is shared among the edges ahead. What it
/// costs at least, and each message at least, is part of the bound.
void Messages::visit(std::uint32_t v, int direction) {
  choose(v, direction);
  const CostTable& own = tables_[graph_.own(v)];
  rest_.assign(own.columns, 0);
  for (std::size_t c = 0; c < own.columns; ++c) rest_[c] = finite(own.costs[c]);
  for (const int end : {0, 1})
    for (const std::size_t e : edges_of_[end][v])
      for (std::size_t c = 0; c < own.columns; ++c) rest_[c] += edges_[e].message[end][c];
  const double least = *std::ranges::min_element(rest_);
  for (double& cost : rest_) cost -= least;
  bound_ += least;
  const std::size_t most = std::max(edges_of_[0][v].size(), edges_of_[1][v].size());
  for (const std::size_t e : edges_of_[direction][v])
    send(edges_[e], direction, 1 / static_cast<double>(most));
}

/// From one end to the other.
void Messages::send(Edge& edge, int from, double share) {
  const CostTable& costs = tables_[edge.costs[from]];
  std::vector<double>& message = edge.message[1 - from];
  std::ranges::fill(message, kImpossible);
  for (std::size_t c = 0; c < costs.rows; ++c) {
    const double here = share * rest_[c] - edge.message[from][c];
    const double* row = costs.costs.data() + c * costs.columns;
    for (std::size_t other = 0; other < costs.columns; ++other) {
      const double cost = here + finite(row[other]);
      message[other] = cost < message[other] ? cost : message[other];
    }
  }
  const double least = *std::ranges::min_element(message);
  for (double& cost : message) cost -= least;
  bound_ += least;
}

/// The best choice beside the neighbors behind, which have chosen, and what those ahead say.
void Messages::choose(std::uint32_t v, int direction) {
  const CostTable& own = tables_[graph_.own(v)];
  std::vector<double> costs(own.columns);
  for (std::size_t c = 0; c < own.columns; ++c) costs[c] = finite(own.costs[c]);
  for (const std::size_t e : edges_of_[direction][v])
    for (std::size_t c = 0; c < own.columns; ++c) costs[c] += edges_[e].message[direction][c];
  for (const std::size_t e : edges_of_[1 - direction][v]) {
    const CostTable& table = tables_[edges_[e].costs[direction]];
    const std::size_t row = now_[edges_[e].ends[direction]];
    for (std::size_t c = 0; c < own.columns; ++c) costs[c] += finite(table.at(row, c));
  }
  now_[v] = static_cast<std::uint32_t>(std::ranges::min_element(costs) - costs.begin());
}

void Messages::rate_choices() {
  double cost = graph_.cost();
  for (const std::uint32_t v : variables_) cost += tables_[graph_.own(v)].costs[now_[v]];
  for (const Edge& edge : edges_)
    cost += tables_[edge.costs[0]].at(now_[edge.ends[0]], now_[edge.ends[1]]);
  if (cost >= cost_) return;
  cost_ = cost;
  best_ = now_;
  ceiling_ = std::min(ceiling_, cost);
}

}  // namespace soapstone::parallel
