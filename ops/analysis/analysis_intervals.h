// Intervals of index expressions, and the digits of flat positions.
#pragma once

#include <map>
#include <vector>

#include "ops/analysis/analysis.h"

namespace soapstone::ops::analysis {

/// Half-open; a variable that is not in it has no known value.
using Ranges = std::map<Symbol, Interval>;

inline bool is_empty(const Interval& i) { return i.low >= i.high; }

/// Values of an affine expression. Precondition: every symbol has a range that is not empty.
Interval interval_of(const Polynomial& p, const Ranges& ranges);

/// Narrows the ranges to what the constraints leave possible, as far as bounds show it. Returns
/// false if nothing is left.
bool narrow(const std::vector<Constraint>& constraints, Ranges& ranges);

/// Dimensions first … last of a tensor, of which a read takes the element whose flat position
/// within these dimensions is `position`.
struct Digits {
  std::size_t first, last;
  Polynomial position;
};
/// Splits a flat position wherever an outer and an inner part do not mix: position x·6 + y with
/// 0 ≤ y < 6 is [x, y] in a tensor of dims [n, 6].
std::vector<Digits> split_flat(const Polynomial& position, const core::Dims& dims,
                               const Ranges& ranges);
core::Dims dims_of(const core::Graph& graph, core::TensorId id);
/// The shapes of all tensors of a node's semantics: inputs, then stages; none for left-out inputs.
std::vector<core::Dims> tensor_dims(const core::Graph& graph, core::NodeId node,
                                    const Semantics& semantics);

}  // namespace soapstone::ops::analysis
