// build-model: writes one of the built-in networks as an ONNX file.
#include "cli/build/build_options.h"
#include "cli/build/build_report.h"
#include "cli/session/run_main.h"
#include "jobs/base/usage_error.h"
#include "models/onnx/format/onnx_model.h"

namespace {

using namespace soapstone;

double parameters_of(const models::BuiltNetwork& network) {
  double count = 0;
  for (const core::TensorId weight : network.weights)
    count += static_cast<double>(network.graph.tensor(weight).value->count());
  return count;
}

core::Status build(const cli::BuildOptions& options, cli::Session& session) {
  if (options.list) return session.report(cli::builders_text(), cli::builders_json());
  if (options.name.empty()) {
    return jobs::usage_error("which model?", "build-model --list shows the built-in ones");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const models::ModelBuilder* builder, cli::builder_of(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto values, cli::settings_of(options, *builder));
  session.console.stage("building " + options.name);
  SOAPSTONE_ASSIGN_OR_RETURN(
      const models::BuiltNetwork network,
      models::build_network(options.name, values, {.seed = options.seed, .type = options.type}));
  const std::string path = options.output.empty() ? options.name + ".onnx" : options.output;
  session.console.stage("writing " + path);
  SOAPSTONE_RETURN_IF_ERROR(
      models::write_onnx(network.graph, *models::new_header(options.opset), path));
  const cli::BuiltModel built{path, builder->name, parameters_of(network),
                              network.graph.order().size(), options.opset};
  return session.report(cli::built_text(built), cli::built_json(built));
}

}  // namespace

int main(int argc, char** argv) {
  cli::BuildOptions options;
  cli::CommandLine line("build-model",
                        "Writes a built-in network as an ONNX file, with seeded random weights.");
  cli::add_build_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return build(options, session); });
}
