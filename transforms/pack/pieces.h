// The text of rules that make items of pieces of a tensor.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// The rule that makes items of pieces of one tensor: the results of one split, or cuts of equal
/// size one behind the other. None: these are no such pieces.
std::optional<std::string> taken_pieces(const core::Graph& graph,
                                        std::span<const core::TensorId> pieces);

}  // namespace soapstone::transforms
