// plan-graph: how to partition a model over the devices of a machine, and how long a plan that
// somebody else made takes.
#include <algorithm>

#include <fmt/format.h>

#include "cli/plan/described_report.h"
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_report.h"
#include "cli/session/run_main.h"
#include "core/base/file_io.h"
#include "jobs/base/usage_error.h"
#include "jobs/run/check_plan.h"
#include "jobs/run/rehearsed_choice.h"

namespace {

using namespace soapstone;

core::Status plan(const cli::PlanOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::PlanRequest request, cli::plan_request(options));
  SOAPSTONE_ASSIGN_OR_RETURN(jobs::PlanOutcome outcome, jobs::plan(request, session.context()));
  if (outcome.is_here && outcome.fits && !outcome.was_stopped)
    jobs::choose_by_rehearsal(outcome, request, session.context());
  if (!options.output.empty() && outcome.fits) {
    SOAPSTONE_RETURN_IF_ERROR(
        core::write_file(options.output, parallel::plan_to_json(outcome.plan)));
  }
  cli::PlanReportExtras extras;
  if (options.checks && outcome.fits) {
    SOAPSTONE_ASSIGN_OR_RETURN(extras.check,
                               jobs::check_plan({outcome.graph, outcome.is_weight, outcome.header},
                                                request.model, outcome.plan, session.context()));
  }
  if (!options.onnx.empty() && outcome.fits) {
    SOAPSTONE_ASSIGN_OR_RETURN(extras.annotations, jobs::write_annotated(outcome, options.onnx));
  }
  const cli::ToldStep step =
      cli::tell_step(outcome.plan, request.topology, options.pictures, session.context());
  extras.told_us = cli::told_us(step);
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::plan_text(outcome, extras), cli::plan_report_json(outcome, extras)));
  const bool has_other_output =
      !options.output.empty() || !options.onnx.empty() || !options.json.empty();
  SOAPSTONE_RETURN_IF_ERROR(
      cli::write_pictures(step, options.pictures, has_other_output, session.context()));
  if (outcome.was_stopped) {
    return core::Error{
        core::ErrorCode::kInterrupted, "stopped; this is the best plan until then", {}, {}};
  }
  if (outcome.fits) return core::Done{};
  return core::Error{core::ErrorCode::kRequirementNotMet,
                     "no plan fits into the memory; the smallest that was found is shown",
                     {},
                     "take more devices, a smaller batch or a narrower `precision`"};
}

/// Pictures are of one plan.
core::Status check_described_pictures(const cli::PlanOptions& options, std::size_t plans) {
  if (plans == 1 || (options.pictures.svg.empty() && options.pictures.trace.empty()))
    return core::Done{};
  return jobs::usage_error(fmt::format("`svg` and `trace` show one plan, and {} has {}",
                                       options.described.simulate, plans),
                           "choose one with `only`");
}

core::Status simulate(const cli::PlanOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto outcomes,
                             jobs::simulate_described(options.described, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(check_described_pictures(options, outcomes.size()));
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::described_text(outcomes), cli::described_json(outcomes)));
  if (outcomes.size() == 1)
    SOAPSTONE_RETURN_IF_ERROR(cli::write_step_pictures(outcomes.front().step, options.pictures));
  const auto tight = std::ranges::find_if_not(outcomes, &parallel::DescribedOutcome::fits);
  if (!options.requires_fit || tight == outcomes.end()) return core::Done{};
  return core::Error{core::ErrorCode::kRequirementNotMet,
                     fmt::format("plan '{}' does not fit into the memory", tight->plan.id),
                     {},
                     "take more stages, more tensor parallelism or smaller microbatches"};
}

core::Status run(const cli::CommandLine& line, const cli::PlanOptions& options,
                 cli::Session& session) {
  SOAPSTONE_RETURN_IF_ERROR(cli::check_described(line, options));
  return options.described.simulate.empty() ? plan(options, session) : simulate(options, session);
}

}  // namespace

int main(int argc, char** argv) {
  cli::PlanOptions options;
  cli::CommandLine line("plan-graph", "Plans how a model is partitioned over many devices.");
  cli::add_plan_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return run(line, options, session); });
}
