#include "parallel/elimination/ascending.h"

#include <algorithm>
#include <utility>

#include "parallel/elimination/messages.h"

namespace soapstone::parallel {
namespace {

/// How far messages may leave the bound of what elimination leaves, as a share.
constexpr double kGapOfParts = 1e-9;

double bound_of(const RemainingGraph& rest, CostTables& tables) {
  if (rest.is_eliminated()) return rest.cost();
  Messages messages(rest, tables);
  messages.pass(kGapOfParts);
  return messages.lower_bound();
}

}  // namespace

AscendingAssignments::AscendingAssignments(const std::vector<CostGraph>& graphs, CostTables& tables,
                                           const std::vector<CostVariableId>& least)
    : tables_(tables), least_(least.size()) {
  Graphs all;
  for (const CostGraph& graph : graphs) all.emplace_back(graph, tables, least);
  add_whole(std::move(all), kImpossible);
}

std::optional<Assignment> AscendingAssignments::next(double limit, std::size_t most_steps) {
  while (lower_bound() < limit) {
    if (steps_ >= most_steps) {
      has_given_up_ = true;
      return std::nullopt;
    }
    std::ranges::pop_heap(parts_, std::less());
    const Part part = std::move(parts_.back());
    parts_.pop_back();
    if (!part.graphs->front().is_eliminated())
      fix_one(part, limit);
    else if (part.decided + least_ == part.choices.size())
      return completed(part);
    else
      take_apart(part, limit);
  }
  return std::nullopt;
}

void AscendingAssignments::add(Part part, double limit) {
  part.cost = *std::ranges::max_element(part.costs);
  if (part.cost >= limit) return;
  parts_.push_back(std::move(part));
  std::ranges::push_heap(parts_, std::less());
}

void AscendingAssignments::add_whole(Graphs graphs, double limit) {
  Part part;
  part.choices.assign(graphs.front().size(), 0);
  for (const RemainingGraph& graph : graphs) part.costs.push_back(bound_of(graph, tables_));
  part.graphs = std::make_shared<const Graphs>(std::move(graphs));
  add(std::move(part), limit);
}

/// Splits a part by the choices of the last variable that went and has none yet.
void AscendingAssignments::take_apart(const Part& part, double limit) {
  const Graphs& graphs = *part.graphs;
  const std::size_t at = part.choices.size() - 1 - part.decided;
  for (std::uint32_t c = 0; c < graphs.front().choices_of_gone(at); ++c) {
    ++steps_;
    Part one = part;
    ++one.decided;
    one.choices[graphs.front().gone(at).variable] = c;
    for (std::size_t g = 0; g < graphs.size(); ++g)
      one.costs[g] += graphs[g].more_than_least(at, one.choices);
    add(std::move(one), limit);
  }
}

/// Splits a part by the choices of a variable that elimination leaves.
void AscendingAssignments::fix_one(const Part& part, double limit) {
  Graphs graphs = *part.graphs;
  const std::uint32_t center = *graphs.front().most_neighbors();
  const std::size_t choices = tables_[graphs.front().own(center)].columns;
  for (std::uint32_t c = 0; c < choices; ++c) {
    steps_ += graphs.front().size();
    Graphs fixed = graphs;
    for (RemainingGraph& graph : fixed) graph.fix(center, c);
    add_whole(std::move(fixed), limit);
  }
}

Assignment AscendingAssignments::completed(Part part) const {
  const RemainingGraph& graph = part.graphs->front();
  for (std::size_t at = least_; at-- > 0;) graph.choose_least(at, part.choices);
  return {std::move(part.choices), part.cost, part.cost};
}

}  // namespace soapstone::parallel
