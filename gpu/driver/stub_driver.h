// A driver for libraries that only look for one.
#pragma once

#include "core/base/result.h"

namespace soapstone::gpu {

/// From here on libraries of this process that load the driver find it: the driver itself, or where
/// there is none the stub that CUDA's toolkit has for linking, all of whose calls fail. cuDNN asks
/// for that much before it says which of its engines fit. Errors: kUnavailable if there is neither.
core::Status provide_driver();

}  // namespace soapstone::gpu
