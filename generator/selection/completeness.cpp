// See completeness.h.
#include "generator/selection/completeness.h"

#include <algorithm>
#include <atomic>

#include "core/tasks/tasks.h"
#include "generator/generalization/candidates.h"

namespace soapstone::generator {
namespace {

enum class EqualityStatus : std::uint8_t { kNotLookedAt, kDerived, kNoRule, kWrong, kLost };

EqualityStatus look_at(const Enumeration& enumeration, const EqualPair& pair,
                       const rules::SaturationRules& rules, const DerivationLimits& limits) {
  const auto sides = sides_of(enumeration, pair);
  const auto example = sides ? example_of(*sides) : std::nullopt;
  if (!example) return EqualityStatus::kNoRule;
  if (derivable(example->source, example->target, rules, limits)) return EqualityStatus::kDerived;
  return narrowest_candidate_of(*sides) ? EqualityStatus::kLost : EqualityStatus::kWrong;
}

}  // namespace

Completeness completeness(const Enumeration& enumeration, const rules::SaturationRules& rules,
                          const CompletenessOptions& options, core::ProgressSink& progress,
                          const core::StopToken& stop) {
  const std::vector<EqualPair>& pairs = enumeration.pairs;
  const std::size_t count = (pairs.size() + options.step - 1) / options.step;
  std::vector<EqualityStatus> findings(count);
  std::atomic<std::size_t> done = 0;
  core::TaskArena(options.jobs).parallel_for(0, count, [&](std::size_t k) {
    if (stop.stop_requested()) return;
    findings[k] = look_at(enumeration, pairs[k * options.step], rules, options.limits);
    progress.update(++done, count, "equalities derived again");
  });
  const auto number_of = [&](EqualityStatus wanted) {
    return static_cast<std::size_t>(std::ranges::count(findings, wanted));
  };
  Completeness result{number_of(EqualityStatus::kDerived),
                      number_of(EqualityStatus::kNoRule),
                      number_of(EqualityStatus::kWrong),
                      {}};
  for (std::size_t k = 0; k < count; ++k)
    if (findings[k] == EqualityStatus::kLost) result.lost.push_back(pairs[k * options.step]);
  return result;
}

}  // namespace soapstone::generator
