// How the text of kernels spells types and functions, and the lines that stand before every kernel.
#pragma once

#include <string>
#include <string_view>

#include "gpu/text/region.h"

namespace soapstone::gpu {

/// Of elements in memory: `float`, `Half`, `Truth`.
std::string_view element_name(core::DataType type);
/// Of values in registers: `float`, `double`, `Integer`.
std::string_view scalar_name(Scalar type);
/// A number as it is written in a program.
std::string number_text(ops::Rational number, Scalar type);
/// The function of the text that computes this one.
std::string function_name(ops::Function function);

/// Types, functions and reductions that kernels use. Needs no header and no library: what is
/// particular to a compiler for devices (16-bit floats) is told apart by a macro.
std::string_view prelude();

}  // namespace soapstone::gpu
