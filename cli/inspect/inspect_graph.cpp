// inspect-graph: what is in a model, as a summary, as text, as a picture.
#include "cli/drawing/graph_drawing.h"
#include "cli/inspect/inspect_options.h"
#include "cli/inspect/inspect_report.h"
#include "cli/session/run_main.h"
#include "core/text/text.h"

namespace {

using namespace soapstone;

core::Status draw(const cli::InspectOptions& options, const core::Graph& graph,
                  cli::Session& session) {
  if (options.dot.empty() && options.svg.empty()) return core::Done{};
  session.console.stage("drawing");
  const std::string dot = cli::dot_text(graph, options.request.fusion);
  if (!options.dot.empty()) SOAPSTONE_RETURN_IF_ERROR(cli::write_text(options.dot, dot));
  if (!options.svg.empty()) SOAPSTONE_RETURN_IF_ERROR(cli::write_svg(options.svg, dot));
  return core::Done{};
}

core::Status inspect(const cli::InspectOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::InspectOutcome outcome,
                             jobs::inspect(options.request, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(draw(options, outcome.model.graph, session));
  const std::string text = options.as_text ? core::print(outcome.model.graph, {.show_types = true})
                                           : cli::summary_text(options.request, outcome);
  return session.report(text, cli::summary_json(options.request, outcome));
}

}  // namespace

int main(int argc, char** argv) {
  cli::InspectOptions options;
  cli::CommandLine line("inspect-graph",
                        "Shows what is in a model: operators, sizes, work, memory.");
  cli::add_inspect_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return inspect(options, session); });
}
