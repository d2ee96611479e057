// measure-costs: times the launches that a search of some models meets, for optimize-graph --target
// where the device is not.
#include "cli/measure/measure_options.h"
#include "cli/session/run_main.h"

namespace {

using namespace soapstone;

core::Status measure(const cli::MeasureOptions& options, cli::Session& session) {
  const jobs::MeasureRequest& request = options.request;
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::MeasureOutcome outcome,
                             jobs::measure_costs(request, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::measure_text(outcome, request.output),
                                           cli::measure_json(outcome, request.output)));
  if (!outcome.interrupted) return core::Done{};
  return core::Error{core::ErrorCode::kInterrupted,
                     "interrupted: what was measured so far was kept",
                     request.output,
                     {}};
}

}  // namespace

int main(int argc, char** argv) {
  cli::MeasureOptions options;
  cli::CommandLine line("measure-costs",
                        "Times every launch that a search of some models meets on a device.");
  cli::add_measure_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return measure(options, session); });
}
