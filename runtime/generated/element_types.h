// How the text of kernels spells types and functions, which the lines that a target puts before its
// kernels define.
#pragma once

#include <string>
#include <string_view>

#include "runtime/generated/region.h"

namespace soapstone::runtime::generated {

/// Of elements in memory: `float`, `Half`, `Truth`.
std::string_view element_name(core::DataType type);
/// Of values in registers: `float`, `double`, `Integer`.
std::string_view scalar_name(Scalar type);
/// A number as it is written in a program.
std::string number_text(ops::Rational number, Scalar type);
/// The function of the text that computes this one.
std::string function_name(ops::Function function);

}  // namespace soapstone::runtime::generated
