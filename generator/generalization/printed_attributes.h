// Attributes in the text of a rule, found by the roles that the operators' definitions give them.
#pragma once

#include <optional>
#include <string>

#include "core/graph/op_facts.h"

namespace soapstone::generator {

/// Where the value of an attribute stands in a line of a printed rule.
struct Given {
  std::size_t begin = 0, size = 0;
  explicit operator bool() const { return size > 0; }
};

/// The attribute with the role, if the line's operator has one and it is not left to its default.
Given given(const std::string& line, core::AttributeRole role);

/// The rule for both values of the flags that average pools have, if those are one and the same.
std::optional<std::string> for_either_flag(const std::string& text);

}  // namespace soapstone::generator
