// Convolutions with unlike windows: each can have a larger one, with zeros between and around its
// weights, so that those of one image, or of one sum, are one convolution.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `window_of_sum`.
inline constexpr std::string_view kWindowPrefix = "window_of_";

/// Plans for the convolutions that read one image, and for those in one sum. Complexity: linear in
/// the graph.
std::vector<RewriteSequence> find_windows(const core::Graph& graph);
inline constexpr Transform kCommonWindows{"common_windows",
                                          "convolutions of one image, or in one sum, become one",
                                          find_windows,
                                          {kWindowPrefix}};

}  // namespace soapstone::transforms
