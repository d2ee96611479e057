// A rule as one line: `matmul(a, matmul(b, c)) = matmul(matmul(a, b), c)`.
#pragma once

#include <string>

#include "rules/rule/rule.h"

namespace soapstone::jobs {

/// Attributes at their defaults are left out; several results stand in parentheses.
std::string equation_text(const rules::Rule& rule);

}  // namespace soapstone::jobs
