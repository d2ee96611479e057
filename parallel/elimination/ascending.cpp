#include "parallel/elimination/ascending.h"

#include <algorithm>
#include <utility>

namespace soapstone::parallel {

AscendingAssignments::AscendingAssignments(CostGraph graph, CostTables& tables,
                                           const EliminationOptions& options)
    : graph_(std::move(graph)), tables_(tables), options_(options) {
  Part all;
  for (std::size_t v = 0; v < graph_.size(); ++v) all.own.push_back(graph_.own(CostVariableId(v)));
  add(std::move(all));
}

std::optional<Assignment> AscendingAssignments::next() {
  if (parts_.empty()) return std::nullopt;
  const auto later = [](const Part& a, const Part& b) { return a.best.cost > b.best.cost; };
  std::ranges::pop_heap(parts_, later);
  Part part = std::move(parts_.back());
  parts_.pop_back();
  std::vector<CostTableId> own = part.own;
  for (std::size_t v = part.first_free; v < own.size(); ++v) {
    const std::uint32_t choice = part.best.choices[v];
    Part other{own, v, {}};
    other.own[v] = without(own[v], choice);
    add(std::move(other));
    own[v] = only(own[v], choice);
  }
  return std::move(part.best);
}

void AscendingAssignments::add(Part part) {
  for (std::size_t v = 0; v < part.own.size(); ++v) graph_.set_own(CostVariableId(v), part.own[v]);
  part.best = least_assignment(graph_, tables_, options_);
  if (part.best.cost == kImpossible) return;
  parts_.push_back(std::move(part));
  std::ranges::push_heap(parts_,
                         [](const Part& a, const Part& b) { return a.best.cost > b.best.cost; });
}

CostTableId AscendingAssignments::only(CostTableId own, std::uint32_t choice) {
  CostTable table = tables_[own];
  for (std::size_t c = 0; c < table.costs.size(); ++c)
    if (c != choice) table.costs[c] = kImpossible;
  return tables_.intern(std::move(table));
}

CostTableId AscendingAssignments::without(CostTableId own, std::uint32_t choice) {
  CostTable table = tables_[own];
  table.costs[choice] = kImpossible;
  return tables_.intern(std::move(table));
}

}  // namespace soapstone::parallel
