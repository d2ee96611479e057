#include "parallel/placement/canonical.h"

#include <algorithm>
#include <set>

namespace soapstone::parallel {

CanonicalPlacements::CanonicalPlacements(const PlacementProblem& problem) : problem_(problem) {
  std::map<std::pair<std::size_t, std::size_t>, Ways> known;
  for (const Configuration& configuration : problem.configurations) {
    const std::pair<std::size_t, std::size_t> key(configuration.parts, configuration.pieces);
    const auto found = known.find(key);
    ways_.push_back(found != known.end() ? found->second
                                         : known[key] = make(key.first, key.second));
  }
}

/// On `side` devices at equal distances: as many as there are parts, or fewer, so that each runs
/// several parts in turn. Parts are counted as they are, or by piece first; neighbors go to the
/// same device or to different ones.
CanonicalPlacements::Ways CanonicalPlacements::make(std::size_t parts, std::size_t pieces) {
  const std::size_t devices = problem_.device_count;
  Ways ways{devices_.size(), 0, parts};
  std::set<std::vector<std::size_t>> known;
  const bool has_two_orders = pieces > 1 && pieces < parts && parts % pieces == 0;
  const auto add = [&](std::size_t side, std::size_t stride, std::size_t start, bool by_piece,
                       bool in_blocks) {
    std::vector<std::size_t> way(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t k = by_piece ? part % pieces * (parts / pieces) + part / pieces : part;
      way[part] = (start + (in_blocks ? k * side / parts : k % side) * stride) % devices;
    }
    if (!known.insert(way).second) return;
    for (const std::size_t device : way) devices_.push_back(static_cast<std::uint8_t>(device));
    ++ways.count;
  };
  for (std::size_t side = std::min(parts, devices); side > 0; side /= 2)
    for (std::size_t stride = 1; stride * side <= devices; stride *= 2)
      for (std::size_t start = 0; start < devices; ++start)
        for (int order = 0; order < 4; ++order)
          if (has_two_orders || order < 2) add(side, stride, start, order >= 2, order % 2 == 0);
  return ways;
}

}  // namespace soapstone::parallel
