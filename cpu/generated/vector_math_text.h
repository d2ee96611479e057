// cpu/base/vector_math.h as text; CMake makes the source from that file.
#pragma once

#include <string_view>

namespace soapstone::cpu {

extern const std::string_view kVectorMathText;

}  // namespace soapstone::cpu
