// A slow search for values at which the sides of a rule differ, independent of refute.h: it judges
// what that leaves open.
#pragma once

#include <cstdint>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// Looks at up to `size_count` sizes as rules::check draws them and at as many others up to 9, in
/// the prime field and in doubles, on few integers, many integers and reals. Precondition: no
/// parameters left (rules::specialize).
bool has_witness(const rules::Rule& rule, int size_count, std::uint64_t seed);

}  // namespace soapstone::verifier
