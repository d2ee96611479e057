// See plan.h.
#include "jobs/plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "parallel/planning/strategies.h"

namespace soapstone::jobs {
namespace {

/// Errors: kUsage for a size that plans do not have.
core::Status fix_sizes(const std::map<std::string, std::int64_t>& sizes,
                       parallel::FixedSizes& fixed) {
  for (const auto& [name, size] : sizes) {
    if (size < (name == "recompute" ? 0 : 1))
      return usage_error(fmt::format("`fix` {}: {} is too small", name, size));
    if (name == "recompute" && size > 1)
      return usage_error(fmt::format("`fix` recompute: {} is neither 0 nor 1", size));
    if (name == "model")
      fixed.model = size;
    else if (name == "any")
      fixed.any = size;
    else if (name == "stages")
      fixed.stages = size;
    else if (name == "microbatches")
      fixed.microbatches = size;
    else if (name == "chunks")
      fixed.chunks = size;
    else if (name == "recompute")
      fixed.recomputes = size != 0;
    else
      return usage_error(fmt::format("`fix`: there is no size '{}'", name),
                         "there are model, any, stages, microbatches, chunks and recompute");
  }
  return core::Done{};
}

/// Errors: kUsage for what would be ignored or makes no sense.
core::Status check_request(const PlanRequest& request) {
  if (request.memory_limit_bytes && !(*request.memory_limit_bytes > 0))
    return usage_error(
        fmt::format("`memory_limit`: {} bytes are none", *request.memory_limit_bytes));
  const bool recomputes = request.attention == parallel::Attention::kRecomputed ||
                          (request.fix.contains("recompute") && request.fix.at("recompute") != 0);
  if (recomputes && !request.is_training)
    return usage_error("only training computes anything again",
                       "plan with `train`, or without `attention` recomputed and `fix` recompute");
  return core::Done{};
}

class PlanJob {
 public:
  PlanJob(const PlanRequest& request, const Context& context, MarkedModel model,
          parallel::Topology topology)
      : request_(request), context_(context), model_(std::move(model)),
        topology_(std::move(topology)) {}

  core::Result<PlanOutcome> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::NamedStrategy* strategy,
                               parallel::named_strategy(request_.strategy));
    context_.progress.stage(fmt::format("planning on {}", topology_.name()));
    PlanOutcome outcome;
    const double cpu_before_s = core::process_cpu_s();
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::MeshPlanOptions options, plan_options());
    const auto others = request_.compares ? parallel::Others::kAll : parallel::Others::kNeeded;
    SOAPSTONE_ASSIGN_OR_RETURN(parallel::PlannedStrategies planned,
                               parallel::plan_strategies(model_.graph, model_.is_weight, topology_,
                                                         options, *strategy, others,
                                                         context_.progress, context_.stop));
    outcome.search_cpu_s = core::process_cpu_s() - cpu_before_s;
    for (const parallel::PlannedStrategy& other : planned.others) tell(other, outcome);
    parallel::MeshPlanOutcome& best = planned.chosen;
    outcome.plan = parallel::document_of(model_.graph, model_.is_weight, topology_, best);
    outcome.plan.strategy = strategy->name;
    outcome.plan.is_training = request_.is_training;
    outcome.fits = best.fits;
    outcome.memory_bytes = best.memory_bytes;
    outcome.was_stopped = context_.stop.stop_requested();
    outcome.meshes_tried = planned.meshes_tried;
    outcome.details = std::move(best.plan);
    outcome.graph = std::move(model_.graph);
    return outcome;
  }

 private:
  core::Result<parallel::MeshPlanOptions> plan_options() const {
    parallel::MeshPlanOptions options;
    options.is_training = request_.is_training;
    options.optimizer = request_.optimizer;
    options.precision = request_.precision;
    options.devices = request_.devices;
    options.memory_bytes = request_.memory_limit_bytes;
    options.attention = request_.attention;
    options.threads = request_.jobs;
    SOAPSTONE_RETURN_IF_ERROR(fix_sizes(request_.fix, options.sizes));
    return options;
  }

  /// Data parallelism is told in any case: everybody knows what it is.
  void tell(const parallel::PlannedStrategy& other, PlanOutcome& outcome) const {
    const auto& [strategy, planned] = other;
    if (!planned) {
      if (request_.compares) outcome.refused.push_back({strategy->name, planned.error().message});
      return;
    }
    const parallel::MeshPlan& plan = planned->plan;
    if (strategy->name == "data" && planned->fits) outcome.data_parallel_us = plan.time.total_us;
    if (request_.compares)
      outcome.rivals.push_back(
          {strategy->name, strategy->description, plan.time, plan.shape, planned->fits});
  }

  const PlanRequest& request_;
  const Context& context_;
  MarkedModel model_;
  parallel::Topology topology_;
};

}  // namespace

core::Result<PlanOutcome> plan(const PlanRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<PlanOutcome> {
    SOAPSTONE_RETURN_IF_ERROR(check_request(request));
    SOAPSTONE_ASSIGN_OR_RETURN(parallel::Topology topology, load_topology(request.topology));
    SOAPSTONE_ASSIGN_OR_RETURN(MarkedModel model, load_planned_model(request.model, inner));
    return PlanJob(request, inner, std::move(model), std::move(topology)).run();
  });
}

}  // namespace soapstone::jobs
