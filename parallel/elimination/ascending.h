// The assignments of a cost graph one after the other, the cheapest first. After E. Lawler, "A
// Procedure for Computing the K Best Solutions to Discrete Optimization Problems" (1972): what
// remains when the best assignment is taken away falls into parts without it, of which each has a
// best one.
#pragma once

#include <optional>
#include <vector>

#include "parallel/elimination/cost_graph.h"

namespace soapstone::parallel {

class AscendingAssignments {
 public:
  /// `tables` must outlive this.
  AscendingAssignments(CostGraph graph, CostTables& tables, const EliminationOptions& options);

  /// None if all were told. Complexity: an elimination for each variable.
  std::optional<Assignment> next();

 private:
  /// All assignments with one of the choices that `own` leaves to each variable. Variables before
  /// `first_free` have a single one.
  struct Part {
    std::vector<CostTableId> own;
    std::size_t first_free = 0;
    Assignment best;
  };

  void add(Part part);
  /// `own`, but with all choices impossible except that one, or that one impossible.
  CostTableId only(CostTableId own, std::uint32_t choice);
  CostTableId without(CostTableId own, std::uint32_t choice);

  CostGraph graph_;
  CostTables& tables_;
  const EliminationOptions options_;
  std::vector<Part> parts_;  ///< A heap: the part with the cheapest assignment first.
};

}  // namespace soapstone::parallel
