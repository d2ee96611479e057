#include "parallel/planning/strategies.h"

#include "parallel/planning/exchange_bound.h"

namespace soapstone::parallel {
namespace {

bool is_better(const MeshPlanOutcome& a, const MeshPlanOutcome& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.plan.time.total_us < b.plan.time.total_us
                : a.plan.time.peak_bytes < b.plan.time.peak_bytes;
}

}  // namespace

core::Result<PlannedStrategies>
plan_strategies(const core::Graph& graph, const std::vector<bool>& is_weight,
                const Topology& topology, const MeshPlanOptions& options,
                const NamedStrategy& strategy, Others others, core::ProgressSink& progress,
                const core::StopToken& stop) {
  SOAPSTONE_RETURN_IF_ERROR(check_devices(topology, options));
  const MeshEvaluator evaluator(graph, is_weight, topology, options);
  const auto plan_with = [&](const NamedStrategy& named,
                             double enough_us) -> core::Result<MeshPlanOutcome> {
    SOAPSTONE_ASSIGN_OR_RETURN(const Freedom freedom, freedom_on(topology, evaluator.devices(),
                                                                 named.freedom, options.sizes));
    return plan_on_meshes(evaluator, freedom, enough_us, options.threads, progress, stop);
  };
  const NamedStrategy& best = named_strategies().front();
  const bool is_best = strategy.name == best.name;
  const NamedStrategy* made_with = &strategy;
  PlannedStrategies planned;
  SOAPSTONE_ASSIGN_OR_RETURN(planned.chosen, plan_with(strategy, kImpossible));
  planned.meshes_tried = planned.chosen.meshes_tried;
  for (const NamedStrategy& other : named_strategies()) {
    if (&other == &best || stop.stop_requested()) continue;
    if (!is_best && others == Others::kNeeded && other.name != "data") continue;
    progress.stage("planning " + other.name);
    // Only plans that are faster are needed, but plans are compared with data parallelism.
    const bool is_rival = others == Others::kNeeded && other.name != "data" && planned.chosen.fits;
    core::Result<MeshPlanOutcome> outcome =
        plan_with(other, is_rival ? planned.chosen.plan.time.total_us : kImpossible);
    if (!outcome && outcome.error().code == core::ErrorCode::kInterrupted) break;
    if (outcome) planned.meshes_tried += outcome->meshes_tried;
    if (is_best && outcome && is_better(*outcome, planned.chosen)) {
      planned.chosen = *outcome;
      made_with = &other;
    }
    planned.others.push_back({&other, std::move(outcome)});
  }
  planned.chosen.lower_bound = bound_of_plan(
      evaluator, made_with->freedom, planned.chosen.plan.time.total_us, options.threads, stop);
  return planned;
}

}  // namespace soapstone::parallel
