// What can be computed from one tensor and constants, node by node.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// Of each node its place in the order of the graph.
inline std::map<core::NodeId, std::size_t> places_of(const core::Graph& graph) {
  std::map<core::NodeId, std::size_t> places;
  for (const core::NodeId id : graph.order()) places.emplace(id, places.size());
  return places;
}

/// Goes from the tensor to its readers and on, operands first: `take` says whether a node belongs
/// to it. At most that many do.
template <class Take>
void take_behind(const core::Graph& graph, const std::map<core::NodeId, std::size_t>& places,
                 core::TensorId x, std::size_t most, Take take) {
  std::set<std::pair<std::size_t, core::NodeId>> readers;
  const auto read = [&](core::TensorId id) {
    for (const core::NodeId reader : graph.consumers(id))
      readers.emplace(places.at(reader), reader);
  };
  read(x);
  for (std::size_t taken = 0; !readers.empty() && taken < most;) {
    const core::NodeId next = readers.extract(readers.begin()).value().second;
    if (!take(next)) continue;
    ++taken;
    for (const core::TensorId output : graph.node(next).outputs) read(output);
  }
}

/// What computes the one tensor from the other, but for constants.
std::set<core::NodeId> nodes_between(const core::Graph& graph, core::TensorId x, core::TensorId y);

/// What the nodes compute of values of `x`: each reads it, earlier ones and numbers (see
/// number_of). The type may have other sizes than in the graph, if the nodes work with any; numbers
/// have no dimensions then. Empty: it cannot be computed.
std::vector<std::vector<double>> results_of(const core::Graph& graph, core::TensorId x,
                                            const core::TensorType& type,
                                            const std::vector<core::NodeId>& nodes,
                                            const std::vector<double>& values);

}  // namespace soapstone::transforms
