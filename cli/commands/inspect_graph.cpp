// inspect-graph: what is in a model, as a summary, as text, as a picture.
#include <nlohmann/json.hpp>

#include "cli/device_options.h"
#include "cli/graph_drawing.h"
#include "cli/graph_summary.h"
#include "cli/model_files.h"
#include "cli/run_main.h"
#include "core/text/text.h"

namespace {

using namespace soapstone;  // NOLINT: a main file

struct Options : cli::CommonOptions {
  std::string model;
  std::vector<std::string> shapes;
  cli::DeviceOptions device;
  bool as_text = false;
  std::string dot, svg;
};

core::Status inspect(const Options& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const models::OnnxModel model,
                             cli::read_model(options.model, options.shapes, session));
  const runtime::Fusion fusion = options.device.fusion_level();
  if (!options.dot.empty() || !options.svg.empty()) {
    session.console.stage("drawing");
    const std::string dot = cli::dot_text(model.graph, fusion);
    if (!options.dot.empty()) SOAPSTONE_RETURN_IF_ERROR(cli::write_text(options.dot, dot));
    if (!options.svg.empty()) SOAPSTONE_RETURN_IF_ERROR(cli::write_svg(options.svg, dot));
  }
  const cli::GraphSummary summary = cli::summarize(model.graph, fusion);
  const std::string text = options.as_text
                               ? core::print(model.graph, {.show_types = true})
                               : cli::summary_text(options.model, model, summary, fusion);
  return session.report(text, cli::summary_json(options.model, model, summary, fusion));
}

void declare(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "ONNX file")->required()->type_name("FILE");
  app.add_flag("--text", options.as_text, "Print the graph in Soapstone's text format instead");
  app.add_option("--dot", options.dot, "Write the graph for Graphviz")->type_name("FILE");
  app.add_option("--svg", options.svg, "Draw the graph (needs Graphviz)")->type_name("FILE");
  cli::add_shape_option(app, options.shapes);
  cli::add_fusion_option(app, options.device);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ inspect-graph model.onnx\n"
                         "  $ inspect-graph model.onnx --shape input=1x3x224x224 --json -\n"
                         "  $ inspect-graph model.onnx --svg model.svg");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Shows what is in a model: operators, sizes, work, memory.", "inspect-graph");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return inspect(options, session); });
}
