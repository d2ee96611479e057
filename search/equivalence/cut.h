// Opaque nodes cannot be run. For checks and timings a graph is cut there.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::search {

/// A graph without its opaque nodes: their results are new inputs, their operands new outputs.
struct CutGraph {
  core::Graph graph;
  std::vector<std::string> output_names;
  int cut_nodes = 0;
  int left_out = 0;  ///< Outputs and operands that are not there, since their shape is not known.
};

/// By tensor: whether it depends on an opaque result of which the shape is not known.
std::vector<bool> hang_on_unknown_shapes(const core::Graph& graph);

/// Graphs derived from one original are cut alike: new inputs and outputs in the same order. If the
/// shape of an opaque result is not known, the nodes that depend on it are left out.
core::Result<CutGraph> cut_at_opaque(const core::Graph& graph);

}  // namespace soapstone::search
