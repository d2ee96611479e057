// Hashes of what graphs compute as terms: it does not matter whether equal nodes are shared, nor
// which way around the operands of a commutative operator stand.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph.h"

namespace soapstone::generator {

/// Two graphs with the same inputs have the same hash if they are the same terms.
std::uint64_t term_hash(const core::Graph& graph);
/// By tensor; equal where terms over the same inputs are.
std::vector<std::uint64_t> term_hashes(const core::Graph& graph);
/// The same for a pair of graphs, and whatever the inputs are called and in which order they stand.
std::uint64_t pair_hash(const core::Graph& source, const core::Graph& target);
/// Of two equal nodes one is left. `graph` itself if there are none.
core::Graph with_shared_nodes(core::Graph graph);

}  // namespace soapstone::generator
