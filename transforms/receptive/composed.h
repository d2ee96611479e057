// Convolutions behind one another, and of blocks of an image that lie in its channels: each is one
// convolution of the image.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/receptive/windows.h"

namespace soapstone::transforms {

/// A plan for each convolution that reads only a convolution: the window of both has the products
/// of their kernels. It has a border only along dimensions in which the other one passes places on,
/// such as columns behind rows, and no bias lies between. And one for each convolution of an image
/// whose channels are the places of blocks: its stride is that of the blocks. Complexity: linear in
/// the graph.
std::vector<RewriteSequence> find_composed_windows(const core::Graph& graph);
inline constexpr Transform kComposedWindows{"composed_windows",
                                            "a convolution of a convolution becomes one",
                                            find_composed_windows,
                                            {kWindowPrefix}};

}  // namespace soapstone::transforms
