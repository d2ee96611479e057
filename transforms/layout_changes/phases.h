// A convolution of an image whose places have been dealt out to images of their own, every d-th to
// the same one, is a convolution of the image with a dilation of d: space to batch and back.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/layout_changes/moved_operator.h"
#include "transforms/views/atoms.h"

namespace soapstone::transforms {

/// None: it is no such convolution. Preconditions: those of moved_operator.
std::optional<MovedOperator> convolution_of_phases(const core::Graph& graph, const core::Node& node,
                                                   const std::vector<MovedOperand>& operands);

}  // namespace soapstone::transforms
