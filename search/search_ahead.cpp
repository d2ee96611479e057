// What a search comes to whatever it finds: the first pass of each opening is over the original. So
// threads that have nothing else to do search its regions while others are waited for.
#include <utility>

#include "search/passes/contest.h"
#include "search/regions/region.h"
#include "search/searcher.h"

namespace soapstone::search {
namespace {

std::vector<Region> regions_in(const core::Graph& graph, const ops::SpecialValues& specials,
                               std::size_t size, bool behind_opaque) {
  std::vector<Region> regions;
  for (const auto& part : cover(graph, size, behind_opaque))
    regions.push_back(extract_region(graph, part, specials));
  return regions;
}

/// The regions in which a contest saturates first.
std::vector<Region> first_trials(std::vector<Region> regions) {
  std::vector<Region> trials;
  for (const Region* region : Contest().trials(regions)) trials.push_back(*region);
  return trials;
}

}  // namespace

void Searcher::expect_openings(const core::Graph& original) {
  const bool has_limit = options_.strategy != Strategy::kPortfolio || options_.budget;
  if (has_limit || objective_.needs_memory() || crew_.threads() == 1) return;
  bool is_first = true;
  for (const Rung& rung : ladder(options_)) {
    for (const Pass& pass : rung.openings) {
      // The first one begins at once.
      if (std::exchange(is_first, false)) continue;
      const bool is_contest = pass.method == Pass::Method::kContest;
      const auto regions = [original, size = pass.region_size, is_contest,
                            specials = specials_.again(original),
                            behind_opaque = options_.behind_opaque] {
        std::vector<Region> found = regions_in(original, specials, size, behind_opaque);
        return is_contest ? first_trials(std::move(found)) : found;
      };
      const bool moves = pass.method == Pass::Method::kMoves;
      kinds_.expect(regions, moves ? pass.moves(Guide::kLatency) : pass.saturates());
    }
  }
  work_when_idle();
}

void Searcher::work_when_idle() {
  crew_.when_idle([this] { return !stopped() && kinds_.work_ahead(); });
  crew_.wake();
}

}  // namespace soapstone::search
