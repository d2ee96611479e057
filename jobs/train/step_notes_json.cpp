// See step_file.h.
#include <nlohmann/json.hpp>

#include "jobs/train/step_file.h"

namespace soapstone::jobs {

std::string step_notes(const TrainOutcome& outcome) {
  nlohmann::ordered_json json{{"loss", outcome.loss}, {"learning_rate", outcome.learning_rate}};
  if (!outcome.labels.empty()) json["labels"] = outcome.labels;
  if (!outcome.step.empty()) json["step"] = outcome.step;
  json["replaces"] = nlohmann::ordered_json::object();
  for (const StepReplacement& r : outcome.replaced) json["replaces"][r.output] = r.input;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace soapstone::jobs
