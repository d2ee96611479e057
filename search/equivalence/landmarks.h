// The numbers at which a graph may change its mind: what it compares with, clips at, adds and
// multiplies by. Random inputs practically never meet one of them, so samples are drawn about them.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "runtime/launches/backend.h"

namespace soapstone::search {

/// Samples are drawn about these in addition to what the sampled graph shows by itself.
struct Landmarks {
  /// Landmarks of another graph that is compared with it (landmarks_by_input); inputs beyond its
  /// own are the sampled graph's alone.
  std::vector<std::vector<double>> by_input;
  /// Factors of ordinary inputs that take a number inside the graph across one that it is compared
  /// with or clipped at.
  std::vector<double> stretches;
};

/// By input of the graph: the values at which a tensor made of it by copies, sums and products with
/// numbers equals a number of the graph, or that with the other sign. Then all numbers of the
/// graph, since there may be other arithmetic between. Each list has every value once.
std::vector<std::vector<double>> landmarks_by_input(const core::Graph& graph);

/// Landmarks::stretches of the graph, for the ordinary inputs of that seed. Few runs of it; none if
/// it is large or cannot be run here.
std::vector<double> stretches_of(const core::Graph& graph, runtime::Backend& backend,
                                 std::uint64_t seed);

}  // namespace soapstone::search
