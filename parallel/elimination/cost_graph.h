// Variables with a few choices each, costs of choices and of pairs of choices: the assignment of
// least total cost by eliminating one variable after the other (min-plus dynamic programming over
// the series-parallel tree, and beyond it by messages and cases). Knows nothing of operators and
// devices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "parallel/elimination/cost_table.h"

namespace soapstone::parallel {

struct CostVariableTag;
using CostVariableId = core::Id<CostVariableTag>;

class CostGraph {
 public:
  /// A variable; one cost for each of its choices. Precondition: there is at least one.
  CostVariableId add(CostTableId costs);
  /// Other costs for the choices of a variable, as many as before.
  void set_own(CostVariableId v, CostTableId costs) { own_[v.index()] = costs; }
  /// Adds a cost for pairs of choices; rows are those of `a`. Precondition: a is not b.
  void connect(CostVariableId a, CostVariableId b, CostTableId costs);

  std::size_t size() const { return own_.size(); }
  struct Edge {
    CostVariableId a, b;
    CostTableId costs;
  };
  const std::vector<Edge>& edges() const { return edges_; }
  CostTableId own(CostVariableId v) const { return own_[v.index()]; }

  /// The total of an assignment, summed in the order of variables and edges.
  double cost_of(const CostTables& tables, const std::vector<std::uint32_t>& choices) const;

 private:
  std::vector<CostTableId> own_;
  std::vector<Edge> edges_;
};

struct Assignment {
  std::vector<std::uint32_t> choices;  ///< One a variable.
  double cost = kImpossible;           ///< kImpossible: there is none.
  /// No assignment costs less. Equal to `cost`, but for rounding, where the graph is
  /// series-parallel.
  double lower_bound = 0;
};

struct EliminationOptions {
  /// Cases that may be tried for variables that elimination leaves, where messages leave a gap of
  /// more than a billionth. Without any they may leave one of a ten thousandth.
  std::size_t most_cases = 0;
};

/// Deterministic. `tables` keeps what is learned, for other graphs that share tables.
Assignment least_assignment(const CostGraph& graph, CostTables& tables,
                            const EliminationOptions& options = {});

}  // namespace soapstone::parallel
