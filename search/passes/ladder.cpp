// See ladder.h. Figures behind the numbers: docs/adr/0032.
#include "search/passes/ladder.h"

#include <algorithm>
#include <limits>

namespace soapstone::search {
namespace {

using Method = Pass::Method;

constexpr std::size_t kBeam = 12;

Rung single_strategy(const SearchOptions& options) {
  Rung rung;
  if (options.strategy != Strategy::kEqsat)
    for (const std::size_t size : options.region_sizes)
      rung.openings.push_back({Method::kMoves, size, options.patience, 0});
  if (options.strategy != Strategy::kBacktracking)
    rung.openings.push_back(
        {Method::kSaturation, options.eqsat_region_size, 0, options.eqsat_nodes});
  rung.turns = rung.openings;
  rung.folds_first = options.strategy != Strategy::kEqsat;
  rung.work = std::numeric_limits<std::uint64_t>::max();
  rung.beam = kBeam;
  return rung;
}

std::vector<Rung> all_rungs() {
  constexpr Pass kLarge{Method::kMoves, 48, 80, 0}, kSmall{Method::kMoves, 24, 80, 0};
  constexpr Pass kPatient{Method::kMoves, 96, 400, 0}, kSlow{Method::kMoves, 200, 1'500, 0};
  constexpr Pass kContest{Method::kContest, 48, 80, 1'000, 3'000};
  constexpr Pass kDeep{Method::kSaturation, 40, 0, 5'000}, kWide{Method::kSaturation, 96, 0, 3'000};
  constexpr Pass kDeeper{Method::kSaturation, 40, 0, 20'000},
      kWider{Method::kSaturation, 96, 0, 20'000};
  return {{{kLarge}, false, {}, 100'000, true},
          {{kContest}, false, {kLarge, kContest}, 100'000, true},
          {{kSmall}, true, {kLarge, kSmall, kContest}, 50'000, true, kBeam},
          {{kDeep, kWide}, true, {kPatient, kSmall, kDeep, kWide}, 600'000, false, 16},
          {{kDeeper, kWider}, true, {kSlow, kSmall, kDeeper, kWider}, 4'000'000, false, 24}};
}

}  // namespace

std::vector<Rung> ladder(const SearchOptions& options) {
  if (options.strategy != Strategy::kPortfolio) return {single_strategy(options)};
  std::vector<Rung> rungs = all_rungs();
  rungs.resize(std::min(rungs.size(), static_cast<std::size_t>(std::max(options.effort, 1))));
  return rungs;
}

}  // namespace soapstone::search
