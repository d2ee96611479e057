// The assignments of a cost graph one after the other, the cheapest first. Elimination says how
// cheap the best assignment with some choices is, for choices in the opposite order in which
// variables were eliminated: so a search for the next best one takes no step in vain (best-first
// search with an exact bound). Where elimination leaves variables, messages bound what is left.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "parallel/elimination/cost_graph.h"
#include "parallel/elimination/remaining_graph.h"

namespace soapstone::parallel {

class AscendingAssignments {
 public:
  /// An assignment costs as much as in the graph where it costs most. The graphs differ in their
  /// costs alone. Variables in `least` are not told apart: they have their cheapest choices beside
  /// the others, in each graph; an assignment has those of the first graph. `tables` must outlive
  /// this. Precondition: there is a graph; variables in `least` have one neighbor each, which is
  /// not in `least`.
  AscendingAssignments(const std::vector<CostGraph>& graphs, CostTables& tables,
                       const std::vector<CostVariableId>& least);

  /// No assignment costs less.
  double lower_bound() const { return parts_.empty() ? kImpossible : parts_.front().cost; }
  /// None if all that are left cost `limit` or more, or if more than `most_steps` choices would
  /// have to be looked at in all.
  std::optional<Assignment> next(double limit, std::size_t most_steps);
  bool has_given_up() const { return has_given_up_; }  ///< The last one for the second reason.

 private:
  using Graphs = std::vector<RemainingGraph>;
  /// All assignments that have the choices of variables which went last.
  struct Part {
    double cost = 0;            ///< No assignment of it costs less in all graphs.
    std::vector<double> costs;  ///< The same by graph.
    std::size_t decided = 0;    ///< How many variables have their choice.
    std::vector<std::uint32_t> choices;
    std::shared_ptr<const Graphs> graphs;

    bool operator<(const Part& later) const {
      return cost != later.cost ? cost > later.cost : decided < later.decided;
    }
  };

  void add(Part part, double limit);
  void add_whole(Graphs graphs, double limit);
  void take_apart(const Part& part, double limit);
  void fix_one(const Part& part, double limit);
  Assignment completed(Part part) const;

  CostTables& tables_;
  std::size_t least_ = 0;    ///< How many variables are not told apart.
  std::vector<Part> parts_;  ///< A heap: the cheapest part first.
  std::size_t steps_ = 0;
  bool has_given_up_ = false;
};

}  // namespace soapstone::parallel
