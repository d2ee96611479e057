// See element_types.h.
#include "runtime/generated/element_types.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/check.h"

namespace soapstone::runtime::generated {

std::string_view element_name(core::DataType type) {
  using enum core::DataType;
  switch (type) {
  case kFloat32:
    return "float";
  case kFloat64:
    return "double";
  case kFloat16:
    return "Half";
  case kBFloat16:
    return "Brain";
  case kInt64:
    return "long long";
  case kInt32:
    return "int";
  case kInt16:
    return "short";
  case kInt8:
    return "signed char";
  case kUInt64:
    return "unsigned long long";
  case kUInt32:
    return "unsigned int";
  case kUInt16:
    return "unsigned short";
  case kUInt8:
    return "unsigned char";
  case kBool:
    return "Truth";
  case kString:
  case kOther:
    break;
  }
  CHECK(false, "a region has tensors of numbers only");
}

std::string_view scalar_name(Scalar type) {
  return type == Scalar::kInteger ? "Integer" : type == Scalar::kFloat ? "float" : "double";
}

std::string number_text(ops::Rational number, Scalar type) {
  if (type == Scalar::kInteger) return fmt::format("Integer({})", number.numerator);
  const double value =
      static_cast<double>(number.numerator) / static_cast<double>(number.denominator);
  const std::string name(scalar_name(type));
  if (std::isnan(value)) return name + "(__int_as_float(0x7fc00000))";
  if (std::isinf(value)) return name + (value < 0 ? "(Least())" : "(-float(Least()))");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type == Scalar::kFloat) text += "f";
  return value < 0 ? "(" + text + ")" : text;
}

std::string function_name(ops::Function function) {
  return "fn_" + std::string(ops::properties(function).name);
}

}  // namespace soapstone::runtime::generated
