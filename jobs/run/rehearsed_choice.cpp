// See rehearsed_choice.h.
#include "jobs/run/rehearsed_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "jobs/base/guard.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/rehearse_plan.h"

namespace soapstone::jobs {
namespace {

/// Plans whose planned time is that many times as long are not rehearsed, but for data parallelism.
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

  void run() {
    context_.announce_results();
    rehearse_plan(outcome_.plan, outcome_.memory_bytes, outcome_.fits);
    if (outcome_.plan.strategy == "best" && !outcome_.was_stopped) rehearse_rivals();
  }

 private:
  /// A plan that cannot be rehearsed stays as it is.
  void rehearse_plan(parallel::PlanDocument& plan, double memory_bytes, bool& fits) {
    RunPlanRequest run;
    run.model = request_.model;
    run.topology = request_.topology;
    run.training.drop_dropout = true;
    const auto rehearsed = guarded(context_, [&](const Context& inner) -> core::Result<Rehearsal> {
      SOAPSTONE_ASSIGN_OR_RETURN(const PreparedRun prepared, prepare_run(run, plan, inner));
      return rehearse(prepared, run.device, inner);
    });
    if (!rehearsed) {
      if (rehearsed.error().code == core::ErrorCode::kInterrupted) {
        outcome_.was_stopped = true;
        return;
      }
      context_.progress.log(core::LogLevel::kWarning,
                            fmt::format("the plan of '{}' does not run here: {}", plan.strategy,
                                        rehearsed.error().message));
      return;
    }
    plan.rehearsed = {rehearsed->figures.step_us, std::ranges::max(rehearsed->peak_bytes)};
    fits = plan.rehearsed->peak_bytes <= memory_bytes;
  }

  /// From the one that is foretold to be the fastest on. Slow ones follow as long as none runs and
  /// fits.
  void rehearse_rivals() {
    std::vector<PlanOutcome::Rival*> rivals;
    const double longest_us = kMostLonger * outcome_.plan.time.total_us;
    for (PlanOutcome::Rival& rival : outcome_.rivals)
      if (rival.fits) rivals.push_back(&rival);
    std::ranges::stable_sort(rivals, {},
                             [](const auto* rival) { return rival->plan.time.total_us; });
    std::vector<const parallel::PlanDocument*> known = {&outcome_.plan};
    PlanOutcome::Rival* best = nullptr;
    for (PlanOutcome::Rival* const rival : rivals) {
      const bool is_slow = rival->plan.time.total_us > longest_us && !is_data(*rival);
      if (is_slow && (best ? best->fits : outcome_.fits && outcome_.plan.rehearsed)) continue;
      const auto same = std::ranges::find_if(
          known, [&](const auto* other) { return are_same(*other, rival->plan); });
      if (same != known.end()) {
        rival->plan.rehearsed = (*same)->rehearsed;
        if (rival->plan.rehearsed)
          rival->fits = rival->plan.rehearsed->peak_bytes <= rival->memory_bytes;
        continue;
      }
      if (core::wall_s() - start_s_ > request_.measure_s) break;
      rehearse_plan(rival->plan, rival->memory_bytes, rival->fits);
      if (outcome_.was_stopped) break;
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

  /// One that fits is better than one that does not, and among those the smaller one.
  bool is_better(const PlanOutcome::Rival& rival, const PlanOutcome::Rival* best) const {
    const parallel::PlanDocument& other = best ? best->plan : outcome_.plan;
    if (!rival.plan.rehearsed) return false;
    if (!other.rehearsed) return rival.fits;
    if (const bool other_fits = best ? best->fits : outcome_.fits; rival.fits != other_fits)
      return rival.fits;
    return rival.fits ? rival.plan.foretold_us() < other.foretold_us()
                      : rival.plan.rehearsed->peak_bytes < other.rehearsed->peak_bytes;
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

void choose_by_rehearsal(PlanOutcome& outcome, const PlanRequest& request, const Context& context) {
  Choice(outcome, request, context).run();
}

}  // namespace soapstone::jobs
