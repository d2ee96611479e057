// build-model: writes one of the built-in networks as an ONNX file.
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/run_main.h"
#include "cli/suggestion.h"
#include "cli/table.h"
#include "cli/units.h"
#include "models/networks/builders.h"
#include "models/onnx/format/onnx_model.h"

namespace {

using namespace soapstone;  // NOLINT: a main file
using nlohmann::ordered_json;

struct Options : cli::CommonOptions {
  std::string name;
  std::string output;
  std::vector<std::string> settings;
  int opset = 17;
  std::uint64_t seed = 0;
  bool list = false;
};

core::Status list_models(cli::Session& session) {
  std::string text;
  ordered_json json = ordered_json::array();
  for (const models::ModelBuilder& builder : models::builders()) {
    cli::Table table({{""}, {"", cli::Align::kRight}, {""}});
    ordered_json parameters = ordered_json::object();
    for (const models::ModelParameter& parameter : builder.parameters) {
      table.add_row(
          {"  " + parameter.name, fmt::to_string(parameter.default_value), parameter.description});
      parameters[parameter.name] = parameter.default_value;
    }
    text += fmt::format("{}  {}\n  {}\n{}\n", builder.name, builder.description, builder.source,
                        table.to_string());
    json.push_back({{"name", builder.name},
                    {"description", builder.description},
                    {"source", builder.source},
                    {"parameters", parameters}});
  }
  if (!text.empty()) text.pop_back();
  return session.report(text, json);
}

core::Error usage(std::string message, std::string hint) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

/// A misspelt name is the command line's fault, so it is checked before anything is built.
core::Result<const models::ModelBuilder*> find_builder(const std::string& name) {
  std::vector<std::string> names;
  for (const models::ModelBuilder& builder : models::builders()) {
    if (builder.name == name) return &builder;
    names.push_back(builder.name);
  }
  const std::string close = cli::nearest(name, names);
  return usage(fmt::format("there is no built-in model '{}'", name),
               close.empty() ? "build-model --list shows all" : "did you mean " + close + "?");
}

core::Result<std::map<std::string, std::int64_t>> settings(const Options& options,
                                                           const models::ModelBuilder& builder) {
  std::vector<std::string> known;
  for (const models::ModelParameter& parameter : builder.parameters) {
    known.push_back(parameter.name);
  }
  std::map<std::string, std::int64_t> values;
  for (const std::string& text : options.settings) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto setting, cli::parse_assignment(text));
    if (std::find(known.begin(), known.end(), setting.first) == known.end()) {
      return usage(fmt::format("{} has no parameter '{}'", builder.name, setting.first),
                   fmt::format("it has: {}", fmt::join(known, ", ")));
    }
    values[setting.first] = setting.second;
  }
  return values;
}

core::Status build(const Options& options, cli::Session& session) {
  if (options.list) return list_models(session);
  if (options.name.empty()) {
    return usage("which model?", "build-model --list shows the built-in ones");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const models::ModelBuilder* builder, find_builder(options.name));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto values, settings(options, *builder));
  session.console.stage("building " + options.name);
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph graph,
                             models::build_model(options.name, values, options.seed));
  const std::string path = options.output.empty() ? options.name + ".onnx" : options.output;
  session.console.stage("writing " + path);
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(graph, *models::new_header(options.opset), path));
  const std::string text =
      fmt::format("{}: {}, {} nodes\n", path, builder->description, graph.order().size());
  return session.report(
      text, {{"model", path}, {"nodes", graph.order().size()}, {"opset", options.opset}});
}

void declare(CLI::App& app, Options& options) {
  app.add_option("name", options.name, "Built-in model")->type_name("NAME");
  app.add_flag("--list", options.list, "List the models and their parameters");
  app.add_option("-o,--output", options.output, "ONNX file to write [NAME.onnx]")
      ->type_name("FILE");
  app.add_option("--set", options.settings, "Set a parameter of the model; may be repeated")
      ->type_name("KEY=NUMBER")
      ->allow_extra_args(false);
  app.add_option("--opset", options.opset, "ONNX opset to write")
      ->type_name("N")
      ->check(CLI::Range(7, 23).description(""))
      ->capture_default_str();
  cli::add_seed_option(app, options.seed);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ build-model --list\n"
                         "  $ build-model squeezenet -o squeezenet.onnx\n"
                         "  $ build-model bert_base --set batch=4");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Writes a built-in network as an ONNX file, with seeded random weights.",
               "build-model");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return build(options, session); });
}
