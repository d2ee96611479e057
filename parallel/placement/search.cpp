// See search.h.
#include "parallel/placement/search.h"

#include <vector>

#include "core/tasks/tasks.h"
#include "parallel/placement/canonical.h"
#include "parallel/placement/chain.h"

namespace soapstone::parallel {

PlacementSearchResult search_placement(const PlacementProblem& problem, const Placement& start,
                                       const PlacementSearchOptions& options) {
  const CanonicalPlacements ways(problem);
  std::vector<PlacementSearchResult> results(options.chains);
  core::TaskArena arena(options.threads);
  arena.run([&] {
    core::parallel_for_uneven(0, results.size(), [&](std::size_t chain) {
      SplitMix seeds(options.seed + chain * 0x632be59bd9b4e019);
      results[chain] = PlacementChain(problem, ways, options, seeds.next()).run(start);
    });
  });
  PlacementSearchResult best{start, Simulator(problem).full(start), 0};
  std::uint64_t proposals = 0;
  for (PlacementSearchResult& result : results) {
    proposals += result.proposals;
    if (result.time < best.time) best = std::move(result);
  }
  best.proposals = proposals;
  return best;
}

Placement spread_placement(const PlacementProblem& problem) {
  Placement placement;
  placement.device.resize(problem.slot_count);
  for (std::size_t op = 0; op < problem.operators.size(); ++op) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < problem.operators[op].configurations; ++k) {
      const Configuration& known = problem.configuration(op, best);
      const Configuration& other = problem.configuration(op, k);
      if (other.parts > known.parts || (other.parts == known.parts && other.pieces < known.pieces))
        best = k;
    }
    placement.choice.push_back(static_cast<std::uint16_t>(best));
    for (std::size_t part = 0; part < problem.configuration(op, best).parts; ++part)
      placement.device[problem.operators[op].first_slot + part] =
          static_cast<std::uint8_t>(part % problem.device_count);
  }
  return placement;
}

}  // namespace soapstone::parallel
