// See build_options.h.
#include "cli/build/build_options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/nearest.h"
#include "jobs/base/usage_error.h"

namespace soapstone::cli {

void add_build_options(CommandLine& line, BuildOptions& options) {
  line.add("name", options.name, "Built-in model").type("NAME");
  line.add_flag("--list", options.list, "List the models and their parameters");
  line.add("-o,--output", options.output, "ONNX file to write [NAME.onnx]")
      .type("FILE")
      .writes({.is_regular = true});
  line.add("--set", options.settings, "Set a parameter of the model; may be repeated")
      .type("KEY=NUMBER")
      .one_each();
  line.add("--opset", options.opset, "ONNX opset to write")
      .type("N")
      .between(7, 23)
      .shows_default();
  using enum core::DataType;
  line.add_choice<core::DataType>("--type", options.type,
                                  {{"f32", kFloat32}, {"f16", kFloat16}, {"bf16", kBFloat16}},
                                  "Element type of weights and activations")
      .shows_default();
  add_seed_option(line, options.seed);
  add_common_options(line, options);
  set_examples(line, "  $ build-model --list\n"
                     "  $ build-model squeezenet -o squeezenet.onnx\n"
                     "  $ build-model bert_base --set batch=4");
}

core::Result<const models::ModelBuilder*> builder_of(const BuildOptions& options) {
  std::vector<std::string> names;
  for (const models::ModelBuilder& builder : models::builders()) {
    if (builder.name == options.name) return &builder;
    names.push_back(builder.name);
  }
  const std::string close = core::nearest(options.name, names);
  return jobs::usage_error(fmt::format("there is no built-in model '{}'", options.name),
                           close.empty() ? "build-model --list shows all"
                                         : "did you mean " + close + "?");
}

core::Result<std::map<std::string, std::int64_t>> settings_of(const BuildOptions& options,
                                                              const models::ModelBuilder& builder) {
  std::vector<std::string> known;
  for (const models::ModelParameter& parameter : builder.parameters) {
    known.push_back(parameter.name);
  }
  std::map<std::string, std::int64_t> values;
  for (const std::string& text : options.settings) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto setting, parse_assignment(text));
    if (std::find(known.begin(), known.end(), setting.first) == known.end()) {
      return jobs::usage_error(fmt::format("{} has no parameter '{}'", builder.name, setting.first),
                               fmt::format("it has: {}", fmt::join(known, ", ")));
    }
    values[setting.first] = setting.second;
  }
  return values;
}

}  // namespace soapstone::cli
