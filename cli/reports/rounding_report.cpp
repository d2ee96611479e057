// See rounding_report.h.
#include "cli/reports/rounding_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace soapstone::cli {

std::string rounding_text(const jobs::RoundingError& error) {
  return fmt::format("{} in {} of {} launches; error against f32 on {} inputs, over the output's "
                     "root mean square: {:.1e} at most, {:.1e} on average",
                     jobs::to_string(error.precision), error.rounded_launches, error.launches,
                     error.samples, error.largest(), error.mean());
}

nlohmann::ordered_json rounding_json(const jobs::RoundingError& error) {
  nlohmann::ordered_json json = {{"precision", jobs::to_string(error.precision)},
                                 {"launches", error.launches},
                                 {"rounded_launches", error.rounded_launches},
                                 {"samples", error.samples},
                                 {"largest_error", error.largest()},
                                 {"mean_error", error.mean()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  for (const jobs::RoundingError::Output& output : error.outputs)
    json["outputs"].push_back(
        {{"output", output.name}, {"largest_error", output.largest}, {"mean_error", output.mean}});
  return json;
}

}  // namespace soapstone::cli
