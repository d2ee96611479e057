// See run_plan.h.
#include "jobs/run/run_plan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "cost/timing/statistics.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "jobs/run/checkpoint.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/rank_job.h"
#include "models/files/npz.h"
#include "parallel/ranks/launch.h"
#include "parallel/ranks/ranks.h"
#include "parallel/running/pieces_of_values.h"
#include "runtime/collectives/virtual_ranks.h"

namespace soapstone::jobs {
namespace {

/// Threads that are ranks: more are no use on one machine.
constexpr std::int64_t kMostVirtualRanks = 256;

core::Status check_ranks(const RunPlanRequest& request, const parallel::PlanDocument& plan,
                         const runtime::Collectives* world) {
  const std::string command = command_for(plan);
  const std::int64_t devices = plan.devices;
  if (request.steps < 1)
    return usage_error(fmt::format("`steps`: {} runs are none", request.steps));
  if (request.is_virtual && world)
    return usage_error("`virtual` makes ranks of threads, and mpirun started several processes",
                       fmt::format("start one process with `virtual`, or {}", command));
  if (request.is_virtual && devices > kMostVirtualRanks)
    return usage_error(fmt::format("the plan is for {} devices, and there are {} virtual ranks at "
                                   "most",
                                   devices, kMostVirtualRanks),
                       command);
  const std::int64_t ranks = world ? world->size() : 1;
  if (request.is_virtual || ranks == devices) return core::Done{};
  return usage_error(
      fmt::format("the plan is for {} devices, and {} started", devices,
                  ranks == 1 ? "one process is" : fmt::format("{} processes are", ranks)),
      fmt::format("{}; with `virtual`, ranks are threads of one process", command));
}

/// Runs all ranks as threads; the first one's outcome.
core::Result<RanksOutcome> run_virtual(PreparedRun& prepared, const RunPlanRequest& request,
                                       const Context& context) {
  const auto ranks = runtime::make_virtual_ranks(
      static_cast<int>(prepared.programs.size()),
      std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * request.time_limit_s)));
  std::vector<std::optional<core::Result<RanksOutcome>>> outcomes(ranks.size());
  std::atomic<std::size_t> taken = 0;
  const auto has_taken = [&] {
    if (++taken == ranks.size() && !request.checks) prepared.drop_model();
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      const Context own{r == 0 ? context.progress : core::silent(), context.stop, {}};
      outcomes[r] = guarded(own, [&](const Context& inner) {
        return run_rank(prepared, request, *ranks[r], inner, has_taken);
      });
      if (!*outcomes[r]) ranks[r]->abort(outcomes[r]->error().to_string());
    });
  for (std::thread& thread : threads) thread.join();
  // A rank that was ended by another one only repeats what that one says.
  for (const auto& outcome : outcomes)
    if (!*outcome && outcome->error().code != core::ErrorCode::kUnavailable)
      return outcome->error();
  for (const auto& outcome : outcomes)
    if (!*outcome) return outcome->error();
  return *std::move(outcomes[0]);
}

class RunJob {
 public:
  RunJob(const RunPlanRequest& request, runtime::Collectives* world, const Context& context)
      : request_(request), world_(world), context_(context) {}

  core::Result<RunPlanOutcome> run() {
    RunPlanOutcome outcome;
    auto prepared = prepare(outcome);
    const core::Status is_ready = prepared ? core::Status(core::Done{}) : prepared.error();
    SOAPSTONE_RETURN_IF_ERROR(agree(is_ready));
    const auto has_taken = [&] {
      if (!request_.checks || !is_first()) prepared->drop_model();
    };
    auto ran = world_ ? run_rank(*prepared, request_, *world_, context_, has_taken)
                      : run_virtual(*prepared, request_, context_);
    if (!ran) return ran.error();
    const core::Status is_told =
        is_first() ? tell(*prepared, *std::move(ran), outcome) : core::Status(core::Done{});
    SOAPSTONE_RETURN_IF_ERROR(agree(is_told));
    return outcome;
  }

 private:
  bool is_first() const { return !world_ || world_->rank() == 0; }

  /// All ranks that mpirun started fail together.
  core::Status agree(const core::Status& mine) const {
    if (!world_) return mine;
    parallel::Ranks ranks(*world_);
    return ranks.agree(mine);
  }

  core::Result<PreparedRun> prepare(RunPlanOutcome& outcome) const {
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.plan, read_plan(request_));
    SOAPSTONE_RETURN_IF_ERROR(check_ranks(request_, outcome.plan, world_));
    SOAPSTONE_ASSIGN_OR_RETURN(PreparedRun prepared, prepare_run(request_, outcome.plan, context_));
    if (is_first()) {
      SOAPSTONE_ASSIGN_OR_RETURN(outcome.program_check,
                                 check_in_field(prepared.model.planned.graph, prepared.programs,
                                                prepared.names, context_));
    }
    return prepared;
  }

  core::Status tell(const PreparedRun& prepared, RanksOutcome ran, RunPlanOutcome& outcome) const {
    outcome.is_virtual = !world_;
    outcome.cores = parallel::cores_of_node();
    outcome.low_us = ran.step_us[ran.chosen];
    outcome.spread_us = cost::quantile(ran.step_us, 0.75) - cost::quantile(ran.step_us, 0.25);
    outcome.step_us = std::move(ran.step_us);
    outcome.figures = parallel::figures_of(prepared.names, prepared.programs, ran.times);
    outcome.peak_bytes = std::move(ran.peak_bytes);
    outcome.reference_kernels = ran.reference_kernels;
    outcome.reference_kernel = std::move(ran.reference_kernel);
    outcome.losses = std::move(ran.losses);
    outcome.uncut = prepared.uncut;
    if (prepared.training) outcome.steps_before = prepared.training->steps_before;
    if (request_.tells_step)
      outcome.simulated = parallel::simulate_step(prepared.plan, prepared.topology, {});
    SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(request_.device));
    outcome.device = backend->device().key();
    if (request_.checks) {
      context_.progress.stage("running the model on one device");
      const std::vector<core::Literal> inputs = whole_inputs(prepared);
      SOAPSTONE_ASSIGN_OR_RETURN(
          ResultCheck check,
          ResultCheck::make(prepared.model.whole, inputs, *backend, request_.device.fusion));
      for (const RunResult& result : prepared.results) {
        CheckedResult& checked = outcome.results.emplace_back();
        checked.name = result.name;
        checked.has_cut_sums = result.has_cut_sums;
        checked.accepted_error = result.accepted_error;
        checked.has_exact_kernels = request_.device.device == DeviceKind::kReference;
      }
      check.compare(ran.checked, outcome.results);
    }
    if (request_.outputs.empty()) return core::Done{};
    return models::write_npz(request_.outputs, whole_results(prepared, ran.pieces));
  }

  const RunPlanRequest& request_;
  runtime::Collectives* world_;
  const Context& context_;
};

}  // namespace

bool RunPlanOutcome::is_equal() const {
  return std::ranges::all_of(results, &CheckedResult::is_equal);
}

std::string command_for(const parallel::PlanDocument& plan) {
  return fmt::format("mpirun -n {} run-plan PLAN MODEL", plan.devices);
}

core::Result<RunPlanOutcome> run_plan(const RunPlanRequest& request, runtime::Collectives* world,
                                      const Context& context) {
  return guarded(context,
                 [&](const Context& inner) { return RunJob(request, world, inner).run(); });
}

}  // namespace soapstone::jobs
