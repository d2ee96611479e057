// Cuts of one tensor at shifted places: a sum of them times constants is a convolution, as
// differences, smoothing and moving averages are written; and so is what multiplies or convolves
// channels that are joined from them, as frames of speech and blocks of pixels are.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/receptive/windows.h"

namespace soapstone::transforms {

/// A plan for each such sum. Complexity: cuts times the nodes that read them.
std::vector<RewriteSequence> find_shifted_sums(const core::Graph& graph);

/// A plan for each such join. Between products of frames, dimensions change places twice for each,
/// until moves have taken that out again: what one of them costs does not say whether it pays.
std::vector<RewriteSequence> find_shifted_joins(const core::Graph& graph);
inline constexpr Transform kShiftedJoins{"shifted_joins",
                                         "joins of shifted slices become a convolution",
                                         find_shifted_joins,
                                         {kWindowPrefix}};

}  // namespace soapstone::transforms
