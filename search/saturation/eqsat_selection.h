// One graph out of an e-graph: for each class that is needed the e-node that makes it. Costs count
// an e-node once, however many need it.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "rules/saturation/egraph.h"
#include "search/saturation/eqsat_costs.h"

namespace soapstone::search {

/// By class; none where nothing has been chosen. Ids are those of find().
using Selection = std::vector<rules::ENodeId>;

/// The e-graph of a model, with what it was made from. Inputs may count as constants.
struct EqsatProblem {
  const rules::EGraph& graph;
  const core::Graph& model;
  std::vector<rules::ClassId> inputs, outputs;  ///< Classes, by position in the model.
};

/// The classes that the outputs need, operands first. None: something is not chosen, or the choice
/// is circular.
std::optional<std::vector<rules::ClassId>> needed_classes(const EqsatProblem& problem,
                                                          const Selection& selection);
/// The sum of estimates of the e-nodes chosen for these classes, each once.
double estimate_of(const EqsatProblem& problem, const ENodeCosts& costs, const Selection& selection,
                   const std::vector<rules::ClassId>& needed);

/// Says which classes share the cost of an e-node.
enum class Sharing : std::uint8_t {
  kAsChosen,  ///< The classes of `guide` that use it.
  kPossible,  ///< All classes of `guide` that might use it.
};
/// Chooses for every class that can be made, each as cheap as it can be if its operands are as
/// cheap as they can be and share their cost like that. Never circular.
Selection greedy_selection(const EqsatProblem& problem, const ENodeCosts& costs,
                           const Selection& guide, Sharing sharing = Sharing::kAsChosen);
/// The model as it was given.
Selection given_selection(const EqsatProblem& problem);

/// The graph, with the model's inputs. Several of its outputs may be one tensor, or an input.
/// Precondition: needed_classes() finds them.
core::Graph to_graph(const EqsatProblem& problem, const Selection& selection);

}  // namespace soapstone::search
