// plan-graph: how to partition a model over the devices of a machine.
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_report.h"
#include "cli/session/run_main.h"
#include "core/base/file_io.h"

namespace {

using namespace soapstone;

core::Status plan(const cli::PlanOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::PlanRequest request, cli::plan_request(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::PlanOutcome outcome,
                             jobs::plan(request, session.context()));
  if (!options.output.empty() && outcome.fits) {
    SOAPSTONE_RETURN_IF_ERROR(
        core::write_file(options.output, parallel::plan_to_json(outcome.plan)));
  }
  cli::PlanReportExtras extras;
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

}  // namespace

int main(int argc, char** argv) {
  cli::PlanOptions options;
  cli::CommandLine line("plan-graph", "Plans how a model is partitioned over many devices.");
  cli::add_plan_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return plan(options, session); });
}
