// Tells from a definition alone whether an operator computes or only chooses among the elements
// that it is given. Proofs rest on this, so nothing that an operator states about itself is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "core/graph/op_schema.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// Operands of an operator each of whose results is an element of an operand, 0, 1, or a number
/// among the attributes.
struct Choices {
  std::set<std::uint32_t> chosen;    ///< Results are elements of these.
  std::set<std::uint32_t> compared;  ///< Their values decide which element a result is.
  bool names_numbers = false;        ///< A result may be a number among the attributes.
};

/// None: some result is computed, or it is not evident that none is. Symbols are taken to be at
/// least 0, as sizes are.
std::optional<Choices> choices_of(const Semantics& semantics, const core::Attributes& attributes);

}  // namespace soapstone::ops
