// Orderly ways to put the parts of an operator on devices: neighbors, strides, several parts on
// each, the copies of a piece side by side. Good placements are mostly among these.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

class CanonicalPlacements {
 public:
  explicit CanonicalPlacements(const PlacementProblem& problem);

  /// Ways for a choice of an operator; at least one.
  std::size_t count(std::size_t op, std::size_t choice) const { return of(op, choice).count; }
  /// The device of each part.
  std::span<const std::uint8_t> devices(std::size_t op, std::size_t choice, std::size_t way) const {
    const Ways& ways = of(op, choice);
    return std::span(devices_).subspan(ways.first + way * ways.parts, ways.parts);
  }

 private:
  struct Ways {
    std::size_t first = 0, count = 0, parts = 0;
  };
  const Ways& of(std::size_t op, std::size_t choice) const {
    return ways_[problem_.operators[op].first_configuration + choice];
  }
  Ways make(std::size_t parts, std::size_t pieces);

  const PlacementProblem& problem_;
  std::vector<std::uint8_t> devices_;
  std::vector<Ways> ways_;  ///< Of each configuration.
};

}  // namespace soapstone::parallel
