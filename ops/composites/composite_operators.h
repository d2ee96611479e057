// One function for each composite operator; composite_operators() lists them.
#pragma once

#include "ops/composites/composite.h"

namespace soapstone::ops {

OpDefinition attention_op();
OpDefinition biased_gelu_op();
OpDefinition quick_gelu_op();
OpDefinition scaled_matmul_op();
OpDefinition sum_layer_norm_op();
OpDefinition sum_rms_norm_op();

}  // namespace soapstone::ops
