// See rehearsed_choice.h.
#include "jobs/run/rehearsed_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/rehearse_plan.h"

namespace soapstone::jobs {
namespace {

/// What was foretold of plans may be off by as much: others are not rehearsed, but for data
/// parallelism.
constexpr double kMostLonger = 1.5;

/// Whether both cut everything alike, whatever they are called.
bool are_same(const parallel::PlanDocument& a, const parallel::PlanDocument& b) {
  const auto cuts_of = [](const parallel::PlanDocument& plan, const parallel::PlannedNode& node) {
    return std::pair(node.stage, plan.cuts[node.cuts]);
  };
  return a.shape == b.shape && a.axes == b.axes && a.weights == b.weights &&
         a.cuts_states == b.cuts_states && a.bucket_bytes == b.bucket_bytes &&
         std::ranges::equal(a.nodes, b.nodes, [&](const auto& own, const auto& other) {
           return cuts_of(a, own) == cuts_of(b, other);
         });
}

class Choice {
 public:
  Choice(PlanOutcome& outcome, const PlanRequest& request, const Context& context)
      : outcome_(outcome), request_(request), context_(context), start_s_(core::wall_s()) {}

  core::Status run() {
    SOAPSTONE_RETURN_IF_ERROR(rehearse_plan(outcome_.plan, outcome_.memory_bytes, outcome_.fits));
    if (outcome_.plan.strategy == "best") rehearse_rivals();
    return core::Done{};
  }

 private:
  /// A plan that cannot be rehearsed stays as it is. Errors: kInterrupted.
  core::Status rehearse_plan(parallel::PlanDocument& plan, double memory_bytes, bool& fits) {
    RunPlanRequest run;
    run.model = request_.model;
    run.topology = request_.topology;
    run.training.drop_dropout = true;
    const auto rehearsed = [&]() -> core::Result<Rehearsal> {
      SOAPSTONE_ASSIGN_OR_RETURN(const PreparedRun prepared, prepare_run(run, plan, context_));
      return rehearse(prepared, run.device, context_);
    }();
    if (!rehearsed) {
      if (rehearsed.error().code == core::ErrorCode::kInterrupted) return rehearsed.error();
      context_.progress.log(core::LogLevel::kWarning,
                            fmt::format("the plan of '{}' does not run here: {}", plan.strategy,
                                        rehearsed.error().message));
      return core::Done{};
    }
    plan.rehearsed = {rehearsed->figures.step_us, std::ranges::max(rehearsed->peak_bytes)};
    fits = plan.rehearsed->peak_bytes <= memory_bytes;
    return core::Done{};
  }

  /// From the one that is foretold to be the fastest on.
  void rehearse_rivals() {
    std::vector<PlanOutcome::Rival*> rivals;
    const double longest_us = kMostLonger * outcome_.plan.time.total_us;
    for (PlanOutcome::Rival& rival : outcome_.rivals)
      if (rival.fits && (rival.plan.time.total_us <= longest_us || is_data(rival)))
        rivals.push_back(&rival);
    std::ranges::stable_sort(rivals, {},
                             [](const auto* rival) { return rival->plan.time.total_us; });
    std::vector<const parallel::PlanDocument*> known = {&outcome_.plan};
    PlanOutcome::Rival* best = nullptr;
    for (PlanOutcome::Rival* const rival : rivals) {
      const auto same = std::ranges::find_if(
          known, [&](const auto* other) { return are_same(*other, rival->plan); });
      if (same != known.end()) {
        rival->plan.rehearsed = (*same)->rehearsed;
        continue;
      }
      if (core::wall_s() - start_s_ > request_.measure_s) break;
      if (!rehearse_plan(rival->plan, rival->memory_bytes, rival->fits)) break;
      known.push_back(&rival->plan);
      if (is_better(*rival, best)) best = rival;
    }
    if (best) take(*best);
    tell_data_parallel();
  }

  /// Plans are compared with data parallelism, as both are foretold in the same way.
  void tell_data_parallel() {
    const auto data = std::ranges::find_if(outcome_.rivals, is_data);
    const bool is_known = data != outcome_.rivals.end() && data->fits &&
                          data->plan.rehearsed.has_value() == outcome_.plan.rehearsed.has_value();
    outcome_.data_parallel_us = is_known ? data->plan.foretold_us() : 0;
  }

  static bool is_data(const PlanOutcome::Rival& rival) { return rival.name == "data"; }

  bool is_better(const PlanOutcome::Rival& rival, const PlanOutcome::Rival* best) const {
    if (!rival.plan.rehearsed || !rival.fits) return false;
    const parallel::PlanDocument& other = best ? best->plan : outcome_.plan;
    const bool other_fits = best || outcome_.fits;
    return !other.rehearsed || !other_fits || rival.plan.foretold_us() < other.foretold_us();
  }

  void take(const PlanOutcome::Rival& rival) {
    const std::string strategy = std::move(outcome_.plan.strategy);
    const double bound_us = outcome_.plan.lower_bound_us;
    outcome_.plan = rival.plan;
    outcome_.plan.strategy = strategy;
    outcome_.plan.lower_bound_us = bound_us;
    outcome_.details = rival.details;
    outcome_.memory_bytes = rival.memory_bytes;
    outcome_.fits = rival.fits;
  }

  PlanOutcome& outcome_;
  const PlanRequest& request_;
  const Context& context_;
  const double start_s_;
};

}  // namespace

core::Status choose_by_rehearsal(PlanOutcome& outcome, const PlanRequest& request,
                                 const Context& context) {
  return Choice(outcome, request, context).run();
}

}  // namespace soapstone::jobs
