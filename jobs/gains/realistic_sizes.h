// Puts numbers into a rule that a network would have, and says which inputs would be weights there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jobs/gains/size_roles.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

struct SizedRule {
  rules::Rule rule;  ///< Both sides with numbers for all sizes.
  std::vector<std::pair<std::string, std::int64_t>> sizes;  ///< By symbol of the source.
};

/// At most `count`, all different, the same for the same seed; none if no such sizes fit the rule.
std::vector<SizedRule> at_realistic_sizes(const rules::Rule& rule, std::size_t count,
                                          std::uint64_t seed);

/// Which inputs a model would hold as weights rather than compute.
enum class Weights : std::uint8_t {
  kAlways,   ///< Kernels of convolutions, scales of normalizations.
  kUsually,  ///< Also the right side of a matmul, and what an elementwise operator spreads.
};
/// By input: whether the source reads it as a weight only. Precondition: shapes are numbers.
std::vector<bool> weight_inputs(const rules::Rule& rule, Weights weights);

}  // namespace soapstone::jobs
