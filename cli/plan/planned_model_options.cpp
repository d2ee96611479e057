// See planned_model_options.h.
#include "cli/plan/planned_model_options.h"

#include <fmt/format.h>

#include "jobs/base/usage_error.h"

namespace soapstone::cli {

void add_planned_model_options(CommandLine& line, jobs::PlannedModelRequest& model,
                               std::vector<std::string>& settings) {
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;
  line.add("--set", settings, "Set a parameter of a built-in network; may be repeated")
      .type("KEY=NUMBER")
      .one_each();
  line.add("--batch", model.batch, "Samples of a step, all devices together")
      .type("N")
      .between(std::int64_t{1}, kMostSamples);
  add_shape_option(line, model.shapes);
}

core::Status read_assignments(const std::string& option, const std::vector<std::string>& texts,
                              std::map<std::string, std::int64_t>& numbers) {
  for (const std::string& text : texts) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto assigned, parse_assignment(text));
    if (!numbers.insert(assigned).second)
      return jobs::usage_error(fmt::format("{}: '{}' is there twice", option, assigned.first),
                               "give each key once");
  }
  return core::Done{};
}

}  // namespace soapstone::cli
