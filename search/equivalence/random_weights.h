// Weights that say more than constant ones: a model without real weights often has one number
// everywhere in each, and many a wrong rewrite computes the same then.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace soapstone::search {

/// Every `full` of the original with more than one element, zeros and ones aside, becomes random
/// numbers, which depend on its value, its count and the seed alone; and so does the same one in a
/// graph made from it. A `full` that a rewrite brought in stays: it may be an epsilon.
struct RandomizedPair {
  core::Graph original, rewritten;
};
RandomizedPair randomize_weights(const core::Graph& original, const core::Graph& rewritten,
                                 std::uint64_t seed);

}  // namespace soapstone::search
