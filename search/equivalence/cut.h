// Opaque nodes cannot be run. For checks and timings a graph is cut there.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::search {

/// What opaque nodes compute is a fresh input of the graph; what they read is an output.
struct CutGraph {
  core::Graph graph;
  std::vector<std::string> output_names;
  int cut_nodes = 0;
  int left_out = 0;  ///< Outputs and operands that are not there, since their shape is not known.
};

/// Graphs derived from one original are cut alike: new inputs and outputs in the same order. Where
/// the shape of an opaque result is not known, what depends on it is left out.
core::Result<CutGraph> cut_at_opaque(const core::Graph& graph);

}  // namespace soapstone::search
