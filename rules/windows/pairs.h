// Pairs of convolutions in groups, one behind the other, whose results are added: strips of several
// lengths, and kernels of several sizes, over one image.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "rules/windows/convolution_text.h"

namespace soapstone::rules {

/// The rule that makes two convolutions of them, between which the results of each group stand side
/// by side. `first`: of one image; each makes the image of the convolution of the sum that has its
/// place, by `behind` (call_around(), or nothing). Preconditions: all have the same groups, those
/// of each half the same strides and one window.
std::string paired_convolutions(const core::Graph& graph, const std::vector<Convolution>& first,
                                const std::string& behind, const Sum& sum);

}  // namespace soapstone::rules
