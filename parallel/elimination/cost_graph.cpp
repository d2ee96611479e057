#include "parallel/elimination/cost_graph.h"

#include "core/base/check.h"

namespace soapstone::parallel {

CostVariableId CostGraph::add(CostTableId costs) {
  own_.push_back(costs);
  return CostVariableId(own_.size() - 1);
}

void CostGraph::connect(CostVariableId a, CostVariableId b, CostTableId costs) {
  CHECK(a != b && a.index() < size() && b.index() < size(), "an edge between no two variables");
  edges_.push_back({a, b, costs});
}

double CostGraph::cost_of(const CostTables& tables,
                          const std::vector<std::uint32_t>& choices) const {
  double cost = 0;
  for (std::size_t v = 0; v < size(); ++v) cost += tables[own_[v]].costs[choices[v]];
  for (const Edge& e : edges_)
    cost += tables[e.costs].at(choices[e.a.index()], choices[e.b.index()]);
  return cost;
}

}  // namespace soapstone::parallel
