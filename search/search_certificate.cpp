// How good the best graph is, see searcher.h.
#include <algorithm>

#include "search/regions/region.h"
#include "search/searcher.h"

namespace soapstone::search {

/// Saturates the parts of the best graph once more: they are divided otherwise than the regions of
/// the search, lest an operator be counted twice.
void Searcher::certify() {
  const bool saturates = options_.strategy == Strategy::kPortfolio
                             ? options_.effort > kDefaultEffort
                             : options_.strategy != Strategy::kBacktracking;
  if (!saturates || !cost_.is_monotone()) return;
  if (!result_.best.empty()) now_ = result_.best.front();
  const auto parts = partition(now_.graph, options_.eqsat_region_size, options_.behind_opaque);
  const Pass pass{Pass::Method::kSaturation, options_.eqsat_region_size, 0, options_.eqsat_nodes};
  Way way = pass.saturates();
  way.bounds = true;
  std::vector<Region> regions;
  const ops::SpecialValues specials = specials_.again(now_.graph);
  for (const auto& part : parts) regions.push_back(extract_region(now_.graph, part, specials));
  std::vector<const Region*> all;
  for (const Region& region : regions) all.push_back(&region);
  while (!stopped() && !search_new(all, pass, way)) {
  }
  if (stopped()) return;
  Certificate certificate;
  certificate.regions = regions.size();
  double cost_us = 0, best_us = 0, bound_us = 0;
  for (const Region& region : regions) {
    const RegionResult& found = *kinds_.find(region, way);
    // A gain in the region alone counts as a gap, even if the whole graph does not gain.
    const bool is_best = found.steps.empty();
    if (is_best && found.optimal) ++certificate.optimal;
    if (is_best && found.cheapest_kept) ++certificate.cheapest_kept;
    if (found.cost_before_us > 0)
      certificate.largest_gap =
          std::max(certificate.largest_gap, 1 - found.bound_us / found.cost_before_us);
    cost_us += found.cost_before_us;
    best_us += found.cost_after_us;
    bound_us += found.bound_us;
  }
  if (cost_us > 0) {
    certificate.gap = 1 - bound_us / cost_us;
    certificate.found_gap = 1 - best_us / cost_us;
  }
  result_.certificate = certificate;
}

}  // namespace soapstone::search
