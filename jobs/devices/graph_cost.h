// A cost model made of one function on graphs, for callers with costs of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cost/models/cost_model.h"

namespace soapstone::jobs {

/// The cost of a graph, in microseconds or any other unit: less is better. A graph whose cost is no
/// number of at least 0 is never chosen; that of the original must be one. The
/// search also costs parts of a model and adds up what they gain, so a good function is a sum over
/// operators. It must be safe to call from several threads.
using GraphCostFunction = std::function<double(const core::Graph&)>;

/// `description` names the costs in reports, and in checkpoints: other costs need another one.
std::unique_ptr<cost::CostModel> make_graph_cost(GraphCostFunction function,
                                                 std::string description = "a function");

}  // namespace soapstone::jobs
