// The gradients of convolutions as convolutions, of any stride, dilation, padding and number of
// groups. Composed after their comprehension they would be products over all windows.
#pragma once

#include <optional>

#include "ops/lowering/shared_nodes.h"

namespace soapstone::ops {

/// None: the node is no gradient of a convolution. Errors go to `nodes`.
std::optional<core::TensorId> append_convolution_gradient(SharedNodes& nodes,
                                                          const core::Node& node);

}  // namespace soapstone::ops
