// Decides whether an operator on pieces of its inputs computes a part of the whole: both
// comprehensions are gone through side by side, as functions of one index. The same walk finds
// offsets that are still open (the padding of a part at the border), as equations.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ops/partition/digit_region.h"
#include "ops/partition/digit_space.h"
#include "ops/restriction/equations.h"

namespace soapstone::ops::partition {

/// The whole, and what the part has of it.
struct PartProblem {
  const DigitSpace& whole;
  analysis::Ranges cut;             ///< Digits of loops that run over a part of their values.
  std::vector<DigitRegion> inputs;  ///< By input of the whole: what the part is given of it.
  std::vector<std::size_t> kept;    ///< By input of the part: the input of the whole.
  /// By output and dimension: where the part's elements begin in what its operator computes.
  std::vector<std::vector<Polynomial>> begins;
};

/// What is left to do with the operator's results, by output.
struct PartResult {
  std::vector<Rational> factors;     ///< The part is the result times that: of a mean.
  std::vector<std::int64_t> shifts;  ///< And plus that: positions that are elements.
};

/// None: the operator is not seen to compute the part. `part` has numbers only.
std::optional<PartResult> compare(const PartProblem& problem, const Semantics& part,
                                  const Solution& known);

/// The unknowns in `part` and in the problem if it is to compute the part, as far as reads tell,
/// and beyond that conditions on sums.
Solution solution_of(const PartProblem& problem, const Semantics& part);

}  // namespace soapstone::ops::partition
