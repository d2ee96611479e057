// See several_results.h.
#include "generator/generalization/several_results.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/tasks/tasks.h"
#include "generator/sides/parts_as_results.h"

namespace soapstone::generator {

std::vector<RuleCandidate> with_several_results(std::span<const RuleCandidate> candidates, int jobs,
                                                const core::StopToken& stop) {
  std::vector<Sides> sides;
  for (const RuleCandidate& candidate : candidates)
    std::ranges::move(parts_as_results(candidate.found), std::back_inserter(sides));
  std::vector<std::optional<RuleCandidate>> made(sides.size());
  core::TaskArena(jobs).parallel_for(0, sides.size(), [&](std::size_t k) {
    if (!stop.stop_requested()) made[k] = candidate_of(sides[k]);
  });
  std::vector<RuleCandidate> found;
  for (auto& candidate : made)
    if (candidate) found.push_back(*std::move(candidate));
  return found;
}

}  // namespace soapstone::generator
