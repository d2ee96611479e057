// What a CPU is called, and to which precisions it multiplies.
#pragma once

#include "core/base/result.h"
#include "core/graph/tensor_type.h"
#include "runtime/launches/backend.h"

namespace soapstone::cpu {

/// Processor, libraries and precision: costs of one precision are none of another.
runtime::DeviceInfo describe_device(core::DataType precision, int threads);
/// Errors: kUnavailable if the processor lacks instructions for it; kInvalidInput for what is no
/// precision of a CPU.
core::Status check_precision(core::DataType precision);

}  // namespace soapstone::cpu
