// Stages that count, for each element of a line, how many come before it: sorted, not compared two
// by two, which takes minutes for the scores of a detector.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ops/language/comprehension.h"

namespace soapstone::ops::evaluation {

/// Of the elements of a tensor along one dimension, [outer, size, inner]. Of equal elements the
/// first comes first.
struct Ranks {
  std::uint32_t tensor;
  std::size_t outer = 1, size = 1, inner = 1;
  bool is_falling;  ///< The largest has rank 0.
};

/// None: the stage is something else, or the tensor has another shape than it, of the dims of all
/// tensors so far. Precondition: sizes are numbers.
std::optional<Ranks> ranks_in(const Stage& stage, std::span<const core::Dims> dims);

/// Writes the ranks of x. What is no number counts as the greatest, as in ONNX Runtime: by the
/// comprehension two elements could have one rank.
void write_ranks(const Ranks& ranks, const double* x, double* out);

}  // namespace soapstone::ops::evaluation
