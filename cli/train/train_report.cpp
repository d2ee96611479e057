// See train_report.h.
#include "cli/train/train_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {

std::string train_text(const jobs::TrainOutcome& outcome) {
  std::vector<std::string> inputs = outcome.data;
  if (!outcome.labels.empty()) inputs.push_back(outcome.labels);
  inputs.push_back(outcome.learning_rate);
  std::string text =
      fmt::format("{}: a step of training, {} ({} forward)\n"
                  "trains     {}, {} parameters\n"
                  "feed       {}\n"
                  "returns    {}, and X.updated for each input X that it replaces\n"
                  "gradients  {} by laws, {} composed\n",
                  outcome.path, counted(outcome.nodes, "node"), outcome.forward_nodes,
                  counted(outcome.weights, "weight"), count_text(outcome.parameters),
                  fmt::join(inputs, ", "), outcome.loss, outcome.by_law, outcome.composed);
  if (!outcome.step.empty())
    text += fmt::format("counts     {}: 1 in the first step, the default\n", outcome.step);
  if (outcome.statistics > 0)
    text += fmt::format("follows    {} of batch norms\n",
                        counted(outcome.statistics, "running statistic"));
  if (!outcome.untrained.empty())
    text += fmt::format("untrained  {}: the loss does not depend on them\n",
                        fmt::join(outcome.untrained, ", "));
  return text;
}

std::string train_json(const jobs::TrainOutcome& outcome) {
  nlohmann::ordered_json json{{"model", outcome.path},
                              {"loss", outcome.loss},
                              {"labels", nullptr},
                              {"learning_rate", outcome.learning_rate},
                              {"step", nullptr},
                              {"data", outcome.data},
                              {"replaces", nlohmann::ordered_json::object()},
                              {"weights", outcome.weights},
                              {"parameters", static_cast<std::uint64_t>(outcome.parameters)},
                              {"statistics", outcome.statistics},
                              {"untrained", outcome.untrained},
                              {"nodes", outcome.nodes},
                              {"forward_nodes", outcome.forward_nodes},
                              {"gradients_by_law", outcome.by_law},
                              {"gradients_composed", outcome.composed}};
  if (!outcome.labels.empty()) json["labels"] = outcome.labels;
  if (!outcome.step.empty()) json["step"] = outcome.step;
  for (const jobs::StepReplacement& r : outcome.replaced) json["replaces"][r.output] = r.input;
  return json_text(json);
}

}  // namespace soapstone::cli
