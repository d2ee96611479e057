// Into which digits the dimensions and index variables of a comprehension fall apart, so that
// reads between them are digit by digit: reshape [8, 128, 12, 64] to [1024, 768] reads dimensions
// of two digits each.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ops/partition/accesses.h"

namespace soapstone::ops::partition {

/// Places at which positions 0 … size−1 are cut into digits: ascending divisors of the size from 1
/// to it, each of which divides the next.
using Breaks = std::vector<std::int64_t>;

struct Radices {
  std::map<Symbol, Breaks> variables;       ///< Not of those whose bounds are no numbers from 0 on.
  std::vector<std::vector<Breaks>> inputs;  ///< By input, by dimension.
};

/// Precondition: no dimension is empty.
Radices radices_of(const Semantics& semantics, std::span<const core::Dims> dims,
                   std::span<const Access> accesses);

}  // namespace soapstone::ops::partition
