// See exact.h. Branch and bound over operators in their order. A partial placement takes at least
// its longest path and the longest sum of parts on a device.
#include "parallel/placement/exact.h"

#include <algorithm>
#include <array>
#include <limits>

namespace soapstone::parallel {
namespace {

class Enumeration {
 public:
  Enumeration(const PlacementProblem& problem, std::uint64_t most_nodes)
      : problem_(problem), simulator_(problem), nodes_left_(most_nodes),
        path_(problem.operators.size()) {
    placement_.choice.resize(problem.operators.size());
    placement_.device.resize(problem.slot_count);
    best_.time = std::numeric_limits<Ticks>::max();
  }

  bool visit(std::uint32_t op) {
    if (op == problem_.operators.size()) {
      const Ticks time = simulator_.full(placement_);
      if (time < best_.time) {
        best_.time = time;
        best_.placement = placement_;
      }
      return true;
    }
    for (std::size_t k = 0; k < problem_.operators[op].configurations; ++k) {
      placement_.choice[op] = static_cast<std::uint16_t>(k);
      if (!place_part(op, 0, 0)) return false;
    }
    return true;
  }

  const PlacementSearchResult& best() const { return best_; }

 private:
  /// `shortest`: of the parts that are placed.
  bool place_part(std::uint32_t op, std::uint32_t part, Ticks shortest) {
    ++best_.proposals;
    if (nodes_left_-- == 0) return false;
    const Configuration& chosen = problem_.configuration(op, placement_.choice[op]);
    const PlacedOperator& placed = problem_.operators[op];
    if (part == chosen.parts) {
      path_[op] = shortest + before(op);
      if (path_[op] >= best_.time) return true;
      return visit(op + 1);
    }
    for (std::size_t device = 0; device < problem_.device_count; ++device) {
      const Ticks time = problem_.part_times[chosen.first_time + problem_.kind_of[device]];
      if (loads_[device] + time >= best_.time) continue;
      loads_[device] += time;
      placement_.device[placed.first_slot + part] = static_cast<std::uint8_t>(device);
      // A reader waits for some part of each source, so the shortest part counts.
      const Ticks least = part == 0 ? time : std::min(shortest, time);
      const bool goes_on = place_part(op, part + 1, least);
      loads_[device] -= time;
      if (!goes_on) return false;
    }
    return true;
  }

  Ticks before(std::uint32_t op) const {
    const PlacedOperator& placed = problem_.operators[op];
    Ticks longest = 0;
    for (std::uint32_t k = 0; k < placed.inputs; ++k)
      longest = std::max(longest,
                         path_[problem_.edges[problem_.input_edges[placed.first_input + k]].from]);
    return longest;
  }

  const PlacementProblem& problem_;
  Simulator simulator_;
  std::uint64_t nodes_left_;
  std::vector<Ticks> path_;  ///< To the end of each operator, at least.
  std::array<Ticks, kMostDevicesPlaced> loads_{};
  Placement placement_;
  PlacementSearchResult best_;
};

}  // namespace

std::optional<PlacementSearchResult> exact_placement(const PlacementProblem& problem,
                                                     std::uint64_t most_nodes) {
  Enumeration enumeration(problem, most_nodes);
  if (!enumeration.visit(0)) return std::nullopt;
  return enumeration.best();
}

}  // namespace soapstone::parallel
