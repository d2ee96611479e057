// optimize-graph: finds a faster graph that computes the same, and writes it.
#include "cli/optimize/explanation_report.h"
#include "cli/optimize/optimize_options.h"
#include "cli/optimize/optimize_report.h"
#include "cli/optimize/rules_report.h"
#include "cli/session/run_main.h"
#include "jobs/optimize/optimize.h"

namespace {

using namespace soapstone;

core::Status list_rules(const cli::OptimizeOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto loaded,
                             jobs::load_rules(options.request.rules, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(
      jobs::add_instances(jobs::all_instances(), options.request.rules, loaded));
  const auto tried = jobs::tried_transforms(options.request.rules);
  return session.report(cli::rules_text(loaded, tried), cli::rules_json(loaded, tried));
}

core::Status optimize(const cli::OptimizeOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::OptimizeRequest request, cli::request_of(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::OptimizeOutcome outcome,
                             jobs::optimize(request, session.context()));
  session.console.finish();
  std::string text = cli::optimize_text(outcome);
  if (options.explain == "-") text += cli::explanation_text(*outcome.explanation);
  if (request.explain && options.explain != "-") {
    SOAPSTONE_RETURN_IF_ERROR(cli::write_explanation(options.explain, *outcome.explanation));
  }
  SOAPSTONE_RETURN_IF_ERROR(session.report(text, cli::optimize_json(outcome)));
  return cli::conclude_optimize(outcome, options.require_speedup);
}

}  // namespace

int main(int argc, char** argv) {
  cli::OptimizeOptions options;
  cli::CommandLine line(
      "optimize-graph",
      "Finds a faster graph that computes the same as an ONNX model, and writes it.");
  cli::add_optimize_options(line, options);
  return cli::run_main(argc, argv, line, options, [&](cli::Session& session) -> core::Status {
    cli::imply_strategy(line, options);
    if (options.list_rules) return list_rules(options, session);
    SOAPSTONE_RETURN_IF_ERROR(cli::check_usage(options));
    return optimize(options, session);
  });
}
