// Operators and readers that have a file of their own, apart from the family that lists them.
#pragma once

#include <vector>

#include "ops/definition/op_definition.h"

namespace soapstone::ops {

/// concat, split, slice, pad: listed by layout_ops().
std::vector<OpDefinition> slicing_ops();
OpDefinition slice();
OpDefinition pad();
OpDefinition gather();
OpDefinition cast();
/// softmax, log_softmax: listed by normalization_ops(), as nll_loss is.
std::vector<OpDefinition> softmax_ops();
OpDefinition nll_loss();
OpDefinition iota();
OpDefinition cumsum();
OpDefinition einsum();
OpDefinition conv_transpose();
OpDefinition resize();

/// Reductions and normalizations that are compositions: listed by composite_readers().
std::vector<OnnxReader> statistics_readers();

}  // namespace soapstone::ops
