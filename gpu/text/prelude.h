// The lines that stand before every kernel of a GPU.
#pragma once

#include <string_view>

namespace soapstone::gpu {

/// Types, functions and reductions that kernels use. Needs no header and no library: what is
/// particular to a compiler for devices (16-bit floats) is told apart by a macro.
std::string_view prelude();

}  // namespace soapstone::gpu
