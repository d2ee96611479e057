// Hashes of what graphs compute as terms: it does not matter whether equal nodes are shared, nor
// which way around the operands of a commutative operator stand.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::generator {

/// By tensor; equal where terms over the same inputs are.
std::vector<std::uint64_t> term_hashes(const core::Graph& graph);

}  // namespace soapstone::generator
