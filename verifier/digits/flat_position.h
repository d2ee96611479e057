// Digits of a position by long division: position = (…(d₀·n₁ + d₁)·n₂ + …) with 0 ≤ dₖ < nₖ.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// Whether 0 ≤ digit < radix is known.
using InRange = std::function<bool(const Linear& digit, const Linear& radix)>;

/// The digits of `position` in these radices, least significant last; none if they are not known
/// to be in range. Errors: throws OutOfBudget where a radix is a long sum.
std::optional<std::vector<Linear>>
digits_of(const Linear& position, std::span<const Linear> radices, const InRange& in_range);

}  // namespace soapstone::verifier
