// Puts numbers into a rule that a network would have: what a size is (channels, rows of a sequence,
// a kernel) is read off the places at which it stands, not off its name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/rule.h"

namespace soapstone::cli {

/// From what any tensor may have to what says most: a size that stands in several places is what
/// the last of these says.
enum class SizeRole : std::uint8_t {
  kNone,
  kRows,      ///< Of a matrix: positions of a sequence, or samples.
  kFeatures,  ///< Width of a layer.
  kBatch,
  kHeads,
  kSpatial,
  kChannels,
  kKernel,
};

/// By symbol. Precondition: the rule has no parameters.
std::vector<SizeRole> size_roles(const rules::Rule& rule);

struct SizedRule {
  rules::Rule rule;  ///< Both sides with numbers for all sizes.
  std::vector<std::pair<std::string, std::int64_t>> sizes;  ///< Of each symbol of the source.
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

}  // namespace soapstone::cli
