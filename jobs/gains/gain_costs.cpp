// See gain_costs.h.
#include "jobs/gains/gain_costs.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cost/models/measured_cost.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

/// For one pair.
constexpr double kPairBudgetS = 0.3;
constexpr int kPairRounds = 40;

core::Result<std::unique_ptr<PairClock>> open_pair_clock(const GainRequest& request,
                                                         const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(OpenedDeployment opened,
                             open_deployment(request.runtime, request.device.threads));
  if (opened.deployment) return PairClock::make(*std::move(opened.deployment));
  if (!opened.why_not.empty()) {
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}; rules are timed on our own executor", opened.why_not));
  }
  return std::unique_ptr<PairClock>();
}

}  // namespace

core::Result<GainCosts> make_gain_costs(const GainRequest& request, const Context& context) {
  GainCosts costs;
  if (request.kind == GainKind::kNone)
    return usage_error("gains need costs, but `costs` is none", "choose roofline or measured");
  if (request.kind == GainKind::kRoofline) {
    if (request.runtime.kind == RuntimeRequest::Kind::kWorker)
      return usage_error("a roofline is the same in every `runtime`", "set `costs` to measured");
    costs.model = cost::make_roofline_cost(request.device.fusion);
    costs.name = to_string(request.kind);
    return costs;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(costs.clock, open_pair_clock(request, context));
  if (costs.clock) {
    costs.name = costs.clock->runtime();
    return costs;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(costs.backend, make_backend(request.device));
  SOAPSTONE_ASSIGN_OR_RETURN(costs.database, open_costs(request.device));
  costs.model = cost::make_measured_cost(*costs.backend, request.device.fusion,
                                         costs.database.get(), {.stop = &context.stop});
  costs.name = costs.backend->device().key();
  return costs;
}

PairCosts GainCosts::pairs(const core::StopToken& stop) const {
  if (!clock) return pair_costs(*model);
  return [this, &stop](const Trial& trial) -> core::Result<std::optional<PairCost>> {
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto both,
        clock->compare(trial.source, trial.target, {kPairRounds, kPairBudgetS, {}}, stop));
    if (!both) return std::optional<PairCost>();
    const double spread_us = both->a.high_us - both->a.low_us + both->b.high_us - both->b.low_us;
    return std::optional(PairCost{both->a.median_us, both->b.median_us, spread_us, false});
  };
}

GainOptions gain_options(const GainCosts& costs, std::uint64_t seed, const core::StopToken& stop) {
  if (!costs.clock && !costs.model->needs_quiet_machine()) return {.seed = seed, .stop = &stop};
  return {.instances = 2, .sizes = 3, .seed = seed, .stop = &stop};
}

}  // namespace soapstone::jobs
