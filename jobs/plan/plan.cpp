// See plan.h.
#include "jobs/plan/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "jobs/plan/measured_parts.h"
#include "jobs/plan/part_costs.h"
#include "ops/definition/registry.h"
#include "parallel/planning/strategies.h"

namespace soapstone::jobs {
namespace {

/// Errors: kUsage for a size that plans do not have.
core::Status fix_sizes(const std::map<std::string, std::int64_t>& sizes,
                       parallel::FixedSizes& fixed) {
  for (const auto& [name, size] : sizes) {
    if (size < 1) return usage_error(fmt::format("`fix` {}: {} is too small", name, size));
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
    else if (name == "loss_chunks")
      fixed.loss_chunks = size;
    else if (name == "bucket")
      fixed.bucket_bytes = 1e6 * static_cast<double>(size);
    else
      return usage_error(
          fmt::format("`fix`: there is no size '{}'", name),
          "there are model, any, stages, microbatches, chunks, loss_chunks and bucket");
  }
  return core::Done{};
}

/// Errors: kUsage for what would be ignored or makes no sense.
core::Status check_request(const PlanRequest& request) {
  if (request.memory_limit_bytes && !(*request.memory_limit_bytes > 0))
    return usage_error(
        fmt::format("`memory_limit`: {} bytes are none", *request.memory_limit_bytes));
  const bool recomputes =
      request.attention == parallel::Attention::kRecomputed ||
      request.recompute.value_or(parallel::Recompute::kNothing) != parallel::Recompute::kNothing;
  if (request.fix.contains("loss_chunks") && !request.is_training)
    return usage_error("`fix` loss_chunks: only training has a loss", "plan with `train`");
  if (request.sums_behind && !request.is_training)
    return usage_error("only training sums gradients", "plan with `train`, or without `sums`");
  if (recomputes && !request.is_training)
    return usage_error("only training computes anything again",
                       "plan with `train`, or without `attention` recomputed and `fix` recompute");
  return core::Done{};
}

class PlanJob {
 public:
  PlanJob(const PlanRequest& request, const Context& context, MarkedModel model,
          parallel::Topology topology, std::optional<PartCosts> costs)
      : request_(request), context_(context), model_(std::move(model)),
        step_(request.is_training ? with_loss(model_, context) : model_),
        topology_(std::move(topology)), costs_(std::move(costs)) {
    if (!costs_) return;
    const auto& kind = topology_.kind_of(parallel::DeviceId(0));  // Measured costs are of one kind.
    parts_.emplace(step_.graph, step_.is_weight, *costs_->model, request.measure_s,
                   PartSlowdown{kind.contraction_slowdown, kind.other_slowdown});
  }

  core::Result<PlanOutcome> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::NamedStrategy* strategy,
                               parallel::named_strategy(request_.strategy));
    PlanOutcome outcome;
    SOAPSTONE_RETURN_IF_ERROR(check_known(outcome));
    context_.progress.stage(fmt::format("planning on {}", topology_.name()));
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::MeshPlanOptions options, plan_options());
    outcome.is_here = costs_ && costs_->is_here;
    const auto others = tells_all() ? parallel::Others::kAll : parallel::Others::kNeeded;
    SOAPSTONE_ASSIGN_OR_RETURN(Priced priced, plan_with(*strategy, others, options, outcome));
    parallel::PlannedStrategies& planned = priced.planned;
    for (const parallel::PlannedStrategy& other : planned.others)
      tell(other, priced.estimated_share, outcome);
    parallel::MeshPlanOutcome& best = planned.chosen;
    outcome.plan = document_of(best, strategy->name, priced.estimated_share);
    outcome.fits = best.fits;
    outcome.memory_bytes = best.memory_bytes;
    outcome.lower_bound = best.lower_bound;
    outcome.was_stopped = context_.stop.stop_requested();
    outcome.details = std::move(best.plan);
    for (std::int64_t d = 0; d < outcome.plan.devices; ++d)
      outcome.device_names.push_back(
          topology_.device_name(parallel::DeviceId(static_cast<std::size_t>(d))));
    outcome.graph = std::move(model_.graph);
    outcome.is_weight = std::move(model_.is_weight);
    outcome.header = std::move(model_.header);
    return outcome;
  }

 private:
  /// Whether the plan of every named strategy is told.
  bool tells_all() const {
    const bool is_best = request_.strategy == parallel::named_strategies().front().name;
    return request_.compares || (is_best && costs_ && costs_->is_here);
  }

  parallel::PlanDocument document_of(const parallel::MeshPlanOutcome& planned,
                                     const std::string& strategy, double estimated_share) const {
    parallel::PlanDocument plan =
        parallel::document_of(step_.graph, step_.is_weight, topology_, planned);
    plan.strategy = strategy;
    plan.is_training = request_.is_training;
    if (request_.is_training) plan.optimizer = request_.optimizer;
    plan.cuts_states = request_.is_training && planned.plan.cuts_states;
    plan.estimated_share = estimated_share;
    return plan;
  }

  /// Lists the nodes that are never cut, and priced as passes over their tensors. Errors:
  /// kUnsupported if there are some and the request is strict.
  core::Status check_known(PlanOutcome& outcome) const {
    const std::vector<std::string> names = parallel::node_names(step_.graph);
    for (const core::NodeId id : step_.graph.order())
      if (ops::is_opaque(step_.graph.node(id))) outcome.opaque.push_back(names[id.index()]);
    if (outcome.opaque.empty()) return core::Done{};
    const std::string what = fmt::format(
        "nothing is known of {} of the model's operators, such as '{}': {}", outcome.opaque.size(),
        outcome.opaque.front(),
        request_.is_training ? "whether there is a gradient, and how it is cut" : "how it is cut");
    if (request_.is_strict)
      return core::unsupported(what, "plan without `strict`, and they run whole on every device");
    context_.progress.log(core::LogLevel::kWarning,
                          what + "; it runs whole on every device, and its time is that of a pass "
                                 "over its tensors");
    return core::Done{};
  }

  struct Priced {
    parallel::PlannedStrategies planned;
    double estimated_share = 1;  ///< When it was planned.
  };

  /// What the plans run is measured, until those that are best by all that is known run nothing
  /// else. If it is stopped, the last plans are what there is.
  core::Result<Priced> plan_with(const parallel::NamedStrategy& strategy, parallel::Others others,
                                 const parallel::MeshPlanOptions& options, PlanOutcome& outcome) {
    std::optional<Priced> last;
    for (;;) {
      const double cpu_before_s = core::process_cpu_s();
      auto planned = parallel::plan_strategies(step_.graph, step_.is_weight, topology_, options,
                                               strategy, others, context_.progress, context_.stop);
      outcome.search_cpu_s += core::process_cpu_s() - cpu_before_s;
      if (!planned && last && planned.error().code == core::ErrorCode::kInterrupted)
        return *std::move(last);
      if (!planned) return planned.error();
      outcome.meshes_tried += planned->meshes_tried;
      last = Priced{*std::move(planned), 1};
      if (!parts_) return *std::move(last);
      last->estimated_share = parts_->estimated_share(last->planned.chosen.plan);
      bool has_learned = parts_->learn(last->planned.chosen.plan, context_);
      for (const parallel::PlannedStrategy& other : last->planned.others)
        if (other.outcome) has_learned |= parts_->learn(other.outcome->plan, context_);
      if (!has_learned || context_.stop.stop_requested()) return *std::move(last);
    }
  }

  core::Result<parallel::MeshPlanOptions> plan_options() const {
    parallel::MeshPlanOptions options;
    options.is_training = request_.is_training;
    options.optimizer = request_.optimizer;
    options.precision = request_.precision;
    options.devices = request_.devices;
    options.memory_bytes = request_.memory_limit_bytes;
    options.attention = request_.attention;
    options.threads = request_.jobs;
    options.part_times = parts_ ? &*parts_ : nullptr;
    SOAPSTONE_RETURN_IF_ERROR(fix_sizes(request_.fix, options.sizes));
    options.sizes.recompute = request_.recompute;
    options.sizes.sums_behind = request_.sums_behind;
    return options;
  }

  /// Data parallelism is told in any case: everybody knows what it is.
  void tell(const parallel::PlannedStrategy& other, double estimated_share,
            PlanOutcome& outcome) const {
    const auto& [strategy, planned] = other;
    if (!planned) {
      if (tells_all()) outcome.refused.push_back({strategy->name, planned.error().message});
      return;
    }
    if (strategy->name == "data" && planned->fits)
      outcome.data_parallel_us = planned->plan.time.total_us;
    if (tells_all())
      outcome.rivals.push_back({strategy->name, strategy->description,
                                document_of(*planned, strategy->name, estimated_share),
                                planned->plan, planned->fits, planned->memory_bytes});
  }

  const PlanRequest& request_;
  const Context& context_;
  MarkedModel model_;
  MarkedModel step_;  ///< What is planned: the model, in training with a loss.
  parallel::Topology topology_;
  std::optional<PartCosts> costs_;
  std::optional<MeasuredParts> parts_;  // behind the model and the costs that it refers to
};

}  // namespace

core::Result<PlanOutcome> plan(const PlanRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<PlanOutcome> {
    SOAPSTONE_RETURN_IF_ERROR(check_request(request));
    SOAPSTONE_ASSIGN_OR_RETURN(parallel::Topology topology, load_topology(request.topology));
    SOAPSTONE_ASSIGN_OR_RETURN(MarkedModel model, load_planned_model(request.model, inner));
    std::optional<PartCosts> costs;
    if (request.costs == PlanCosts::kMeasured) {
      SOAPSTONE_ASSIGN_OR_RETURN(costs, open_part_costs(request, topology, inner));
    }
    return PlanJob(request, inner, std::move(model), std::move(topology), std::move(costs)).run();
  });
}

}  // namespace soapstone::jobs
