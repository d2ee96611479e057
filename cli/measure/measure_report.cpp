// The report of measure-costs, see measure_options.h.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/measure/measure_options.h"
#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {

using nlohmann::ordered_json;

std::string measure_text(const jobs::MeasureOutcome& outcome, const std::string& file) {
  Table table({{"model"},
               {"graphs", Align::kRight},
               {"launches timed", Align::kRight},
               {"before", Align::kRight},
               {"best", Align::kRight},
               {"search"}});
  for (const jobs::MeasureOutcome::Model& model : outcome.models) {
    table.add_row({model.name, fmt::to_string(model.graphs), fmt::to_string(model.measured),
                   time_text(model.cost_us), time_text(model.best_us),
                   model.has_ended ? "ended" : "out of time"});
  }
  return fmt::format("{}\n\n{}\n{}: {} launches, {} of them before{}\n", outcome.device,
                     table.to_string(), file, outcome.known, outcome.known_before,
                     outcome.has_ended() ? "" : "; there are more: run it again to go on");
}

std::string measure_json(const jobs::MeasureOutcome& outcome, const std::string& file) {
  ordered_json models = ordered_json::array();
  for (const jobs::MeasureOutcome::Model& model : outcome.models) {
    models.push_back({{"model", model.name},
                      {"graphs_expanded", model.graphs},
                      {"launches_timed", model.measured},
                      {"cost_before_us", model.cost_us},
                      {"cost_after_us", model.best_us},
                      {"search_ended", model.has_ended}});
  }
  return json_text({{"device", outcome.device},
                    {"output", file},
                    {"launches_before", outcome.known_before},
                    {"launches", outcome.known},
                    {"complete", outcome.has_ended()},
                    {"models", models}});
}

}  // namespace soapstone::cli
