// How much memory each device holds over a timeline.
#include <algorithm>
#include <map>

#include "parallel/simulation/timeline.h"

namespace soapstone::parallel {

std::vector<std::vector<MemoryStep>> memory_over_time(const PlacementProblem& problem,
                                                      const Placement& placement,
                                                      const Timeline& timeline) {
  std::vector<std::map<Ticks, double>> changes(problem.device_count);
  const auto hold = [&](std::size_t device, Ticks from, Ticks to, double bytes) {
    changes[device][from] += bytes;
    changes[device][to] -= bytes;
  };
  std::vector<const PartRun*> run_of(problem.slot_count);
  for (const PartRun& run : timeline.parts)
    run_of[problem.operators[run.op].first_slot + run.part] = &run;
  for (const PartRun& run : timeline.parts) {
    const PlacedOperator& placed = problem.operators[run.op];
    const Configuration& chosen = problem.configuration(run.op, placement.choice[run.op]);
    changes[run.device][0] += chosen.resident_bytes;
    Ticks last = run.end;
    for (std::uint32_t k = 0; k < placed.readers; ++k) {
      const PlacedEdge& edge = problem.edges[problem.reader_edges[placed.first_reader + k]];
      const OverlapTable& table =
          problem.table(edge, placement.choice[run.op], placement.choice[edge.to]);
      const std::uint32_t* const starts = &problem.overlap_starts[table.starts_from + run.part];
      for (std::uint32_t j = starts[0]; j < starts[1]; ++j) {
        const Overlap& overlap = problem.overlaps[j];
        const PartRun& reader = *run_of[problem.operators[edge.to].first_slot + overlap.part];
        last = std::max(last, reader.end);
        if (reader.device != run.device)
          hold(reader.device, run.end, reader.end,
               problem.transfer_bytes[overlap.first_time / problem.paths.size()]);
      }
    }
    hold(run.device, run.start, last, chosen.output_bytes);
  }
  std::vector<std::vector<MemoryStep>> steps(problem.device_count);
  for (std::size_t d = 0; d < problem.device_count; ++d) {
    double bytes = 0;
    for (const auto& [time, change] : changes[d]) {
      bytes += change;
      steps[d].push_back({time, bytes});
    }
  }
  return steps;
}

}  // namespace soapstone::parallel
