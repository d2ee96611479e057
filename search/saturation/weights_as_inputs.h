// A region without the values of its weights, so that what holds of it holds of all regions that
// are like it.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace soapstone::search {

struct WeightsAsInputs {
  core::Graph graph;                   ///< Inputs of the region, then its weights.
  std::vector<bool> is_weight;         ///< By input.
  std::vector<core::TensorId> inputs;  ///< In the region, by input of `graph`.
  std::vector<core::NodeId> nodes;     ///< In the region, in the order of `graph`.
};
WeightsAsInputs weights_as_inputs(const core::Graph& region);

/// A graph of these inputs with the region's weights for constants, to say what it costs.
core::Graph with_weights(const core::Graph& graph, const WeightsAsInputs& parts,
                         const core::Graph& region);

}  // namespace soapstone::search
