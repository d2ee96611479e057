// Finds the role of each size of a rule in a network (channels, rows of a sequence, a kernel) from
// the places at which it stands, not from its name.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::jobs {

/// From what any tensor may have to what says most: a size that stands in several places is what
/// the last of these says.
enum class SizeRole : std::uint8_t {
  kNone,
  kRows,      ///< Rows of a matrix: positions of a sequence, or samples.
  kFeatures,  ///< Width of a layer.
  kBatch,
  kHeads,
  kSpatial,
  kChannels,
  kKernel,
};

/// By symbol. Precondition: the rule has no parameters.
std::vector<SizeRole> size_roles(const rules::Rule& rule);

}  // namespace soapstone::jobs
