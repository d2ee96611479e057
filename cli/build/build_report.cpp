// See build_report.h.
#include "cli/build/build_report.h"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "models/networks/builders.h"

namespace soapstone::cli {

std::string built_text(const BuiltModel& built) {
  return fmt::format("{}: {}, {} parameters, {}\n", built.path, built.name,
                     count_text(built.parameters), counted(built.nodes, "node"));
}

std::string built_json(const BuiltModel& built) {
  return json_text({{"model", built.path},
                    {"nodes", built.nodes},
                    {"parameters", static_cast<std::uint64_t>(built.parameters)},
                    {"opset", built.opset}});
}

std::string builders_text() {
  std::string text;
  for (const models::ModelBuilder& builder : models::builders()) {
    Table table({{""}, {"", Align::kRight}, {""}});
    for (const models::ModelParameter& parameter : builder.parameters) {
      table.add_row(
          {"  " + parameter.name, fmt::to_string(parameter.default_value), parameter.description});
    }
    text += fmt::format("{}  {}\n  {}\n{}\n", builder.name, builder.description, builder.source,
                        table.to_string());
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string builders_json() {
  auto json = nlohmann::ordered_json::array();
  for (const models::ModelBuilder& builder : models::builders()) {
    auto parameters = nlohmann::ordered_json::object();
    for (const models::ModelParameter& parameter : builder.parameters)
      parameters[parameter.name] = parameter.default_value;
    json.push_back({{"name", builder.name},
                    {"description", builder.description},
                    {"source", builder.source},
                    {"parameters", parameters}});
  }
  return json_text(json);
}

}  // namespace soapstone::cli
