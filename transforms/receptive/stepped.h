// Convolutions beside nodes that take some of their places: the strides of one convolution.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/receptive/windows.h"

namespace soapstone::transforms {

/// A plan for each convolution of which only every second or third place is read, or that reads an
/// image of which only these are left: its strides and the steps in its window grow. And one for
/// each mean of windows of a convolution's result: the kernel is spread over the window.
/// Complexity: linear in the graph.
std::vector<RewriteSequence> find_stepped_windows(const core::Graph& graph);
inline constexpr Transform kSteppedWindows{"stepped_windows",
                                           "a convolution computes only the places that are read",
                                           find_stepped_windows,
                                           {kWindowPrefix}};

}  // namespace soapstone::transforms
