// Attribute values that follow from the types of the operands: axes, permutations, where to split,
// how far to pad, which shape to take.
#pragma once

#include <span>
#include <vector>

#include "core/graph/tensor_type.h"
#include "generator/vocabulary/vocabulary.h"

namespace soapstone::generator {

/// All attributes of the instance for these operands, one entry for each way. `shapes` are those of
/// the inputs: what a reshape or an expansion may lead to. Values that do not fit the operands may
/// be among them; the operator's shape rule refuses those.
std::vector<core::Attributes> complete_for(const Vocabulary& vocabulary,
                                           const OperatorInstance& instance,
                                           std::span<const core::TensorType* const> operands,
                                           std::span<const core::Shape> shapes);

}  // namespace soapstone::generator
