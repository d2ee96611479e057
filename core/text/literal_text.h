// Small constants as numbers in text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/literal.h"

namespace soapstone::core {

/// One text per element. None: texts would not give back every bit (the payload of a NaN, a bool
/// that is neither 0 nor 1) or the elements are no numbers.
std::optional<std::vector<std::string>> literal_values(const Literal& literal);

/// Errors: kInvalidInput for a wrong number of values, or one that the type cannot hold.
Result<Literal> literal_from_values(DataType type, const Dims& dims,
                                    const std::vector<std::string>& values);

}  // namespace soapstone::core
