// run-plan: runs a plan on the ranks that mpirun started, or on threads in their place.
#include <chrono>

#include "cli/plan/step_drawing.h"
#include "cli/ranks/rank_run.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/session/run_main.h"
#include "core/base/file_io.h"
#include "parallel/simulation/trace_json.h"

namespace {

using namespace soapstone;

/// Errors: those of the simulation and of writing.
core::Status write_timeline(const jobs::RunPlanOutcome& outcome, const std::string& path) {
  if (path.empty()) return core::Done{};
  if (!*outcome.simulated) return outcome.simulated->error();
  const parallel::SimulatedStep& step = **outcome.simulated;
  const std::vector<parallel::MeasuredLane>& lanes = outcome.figures.lanes;
  return core::write_file(path, path.ends_with(".svg") ? cli::step_svg(step, lanes)
                                                       : parallel::chrome_trace(step, lanes));
}

core::Status run(const cli::RunPlanOptions& options, cli::Session& session,
                 runtime::Collectives* world) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::RunPlanRequest request, cli::run_plan_request(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::RunPlanOutcome outcome,
                             jobs::run_plan(request, world, session.context()));
  if (options.is_silent) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::run_plan_text(outcome), cli::run_plan_json(outcome)));
  SOAPSTONE_RETURN_IF_ERROR(write_timeline(outcome, options.timeline));
  if (outcome.is_equal()) return core::Done{};
  return core::Error{core::ErrorCode::kNotEquivalent,
                     "the ranks computed other results than one device: " +
                         cli::difference_text(outcome),
                     {},
                     "please report this with the plan and the model"};
}

/// Ranks that have a core each wait without leaving it: messages take less time then.
core::Status run_as_rank(const cli::RunPlanOptions& options, cli::Session& session) {
  const parallel::MpiLaunch launch = parallel::launch_of_environment();
  const auto limit_ms = static_cast<std::int64_t>(1e3 * options.request.time_limit_s);
  cli::RankRun run_of_ranks{launch};
  if (launch.ranks_on_node <= parallel::cores_of_node())
    run_of_ranks.waiting = parallel::Waiting::kSpin;
  run_of_ranks.time_limit = std::chrono::milliseconds(limit_ms);
  run_of_ranks.has_own_calls = true;
  run_of_ranks.stops = true;
  return cli::run_on_ranks(run_of_ranks, [&](parallel::Ranks* ranks) {
    return run(options, session, ranks ? &ranks->collectives() : nullptr);
  });
}

}  // namespace

int main(int argc, char** argv) {
  cli::RunPlanOptions options;
  options.is_silent = parallel::launch_of_environment().rank > 0;
  cli::CommandLine line("run-plan",
                        "Runs a plan: each rank computes its part of the model and exchanges what "
                        "others need. Tells how long that took beside what was simulated.");
  cli::add_run_plan_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return run_as_rank(options, session); });
}
