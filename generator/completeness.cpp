// See completeness.h.
#include "generator/completeness.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>

#include "generator/candidates.h"

namespace soapstone::generator {
namespace {

enum class Finding : std::uint8_t { kNotLookedAt, kDerived, kNoRule, kWrong, kLost };

Finding look_at(const Enumeration& enumeration, const EqualPair& pair,
                const rules::SaturationRules& rules, const DerivationLimits& limits) {
  const auto sides = sides_of(enumeration, pair);
  const auto example = sides ? example_of(*sides) : std::nullopt;
  if (!example) return Finding::kNoRule;
  if (derivable(example->source, example->target, rules, limits)) return Finding::kDerived;
  return narrowest_candidate_of(*sides) ? Finding::kLost : Finding::kWrong;
}

}  // namespace

Completeness completeness(const Enumeration& enumeration, const rules::SaturationRules& rules,
                          const CompletenessOptions& options, core::ProgressSink& progress,
                          const core::StopToken& stop) {
  const std::vector<EqualPair>& pairs = enumeration.pairs;
  const std::size_t count = (pairs.size() + options.step - 1) / options.step;
  std::vector<Finding> findings(count);
  std::atomic<std::size_t> done = 0;
  tbb::task_arena arena(options.jobs > 0 ? options.jobs : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t k) {
      if (stop.stop_requested()) return;
      findings[k] = look_at(enumeration, pairs[k * options.step], rules, options.limits);
      progress.update(++done, count, "equalities derived again");
    });
  });
  const auto number_of = [&](Finding wanted) {
    return static_cast<std::size_t>(std::ranges::count(findings, wanted));
  };
  Completeness result{
      number_of(Finding::kDerived), number_of(Finding::kNoRule), number_of(Finding::kWrong), {}};
  for (std::size_t k = 0; k < count; ++k)
    if (findings[k] == Finding::kLost) result.lost.push_back(pairs[k * options.step]);
  return result;
}

}  // namespace soapstone::generator
