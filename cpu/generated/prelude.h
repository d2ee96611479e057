// The lines that stand before generated loops.
#pragma once

#include <string>

namespace soapstone::cpu {

/// Types, functions and reductions that loops use; with the functions of cpu/base/vector_math.h.
std::string loop_prelude();

}  // namespace soapstone::cpu
