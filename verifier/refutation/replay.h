// A refutation run again by the reference executor, and written down.
#pragma once

#include <optional>
#include <string>

#include "verifier/refutation/refute.h"
#include "verifier/refutation/sides_at_sizes.h"

namespace soapstone::verifier {

/// Fills in inputs, both values and the text. The element is `expected`'s if it differs there too.
/// None: the executor sees no difference.
std::optional<Refutation> replay(const SidesAtSizes& sides, const InputValues& inputs,
                                 const Difference& expected,
                                 std::vector<std::pair<std::string, std::int64_t>> sizes);

/// `n = 1, m = 2` and the end of the line; empty if there are no sizes.
std::string sizes_text(const std::vector<std::pair<std::string, std::int64_t>>& sizes);

}  // namespace soapstone::verifier
