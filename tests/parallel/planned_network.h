// Built-in networks as planners see them: graphs whose weights are marked.
#pragma once

#include "models/networks/builders.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

struct PlannedNetwork {
  core::Graph graph;
  std::vector<bool> is_weight;
  double weight_bytes = 0;  ///< If a weight takes 4 bytes.
};

PlannedNetwork network(const std::string& name, const models::ParameterValues& sizes,
                       core::DataType type = core::DataType::kFloat32);

/// A preset.
Topology topology(const std::string& name);

}  // namespace soapstone::parallel
