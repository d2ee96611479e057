// Launches of any shape, by generated loops.
#pragma once

#include "cpu/base/kernel_request.h"
#include "cpu/generated/loop_compiler.h"

namespace soapstone::cpu {

/// Errors: kUnsupported where nothing can be generated; those of the compiler.
core::Result<std::unique_ptr<runtime::HostKernel>> make_generated_kernel(const KernelRequest&,
                                                                         LoopCompiler& compiler);

}  // namespace soapstone::cpu
