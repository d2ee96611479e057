// inspect-plan: what a plan says of each operator.
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_report.h"
#include "cli/session/run_main.h"

namespace {

using namespace soapstone;

core::Status inspect(const cli::InspectPlanOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::InspectPlanRequest request,
                             cli::inspect_plan_request(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::PlanDocument plan,
                             jobs::inspect_plan(request, session.context()));
  const cli::ToldStep step =
      cli::tell_step(plan, request.topology, options.pictures, session.context());
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::plan_document_text(plan, cli::told_us(step)),
                                           parallel::plan_to_json(plan)));
  return cli::write_pictures(step, options.pictures, !options.json.empty(), session.context());
}

}  // namespace

int main(int argc, char** argv) {
  cli::InspectPlanOptions options;
  cli::CommandLine line("inspect-plan", "Shows how a plan cuts each operator.");
  cli::add_inspect_plan_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return inspect(options, session); });
}
