// See equivalence_report.h.
#include "cli/equivalence/equivalence_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace soapstone::cli {

using nlohmann::ordered_json;

std::string largest_error_text(const search::EquivalenceReport& report) {
  std::string text = fmt::format("largest relative error {:.1e}", report.max_rel_error());
  if (report.ill_conditioned > 0 && report.ill_conditioned_rel_error > report.max_rel_error()) {
    text += fmt::format(", {:.1e} on {} where rounding alone moves the original by over 5 %",
                        report.ill_conditioned_rel_error, report.ill_conditioned);
  }
  return text;
}

ordered_json difference_json(const std::optional<search::Difference>& difference) {
  if (!difference) return nullptr;
  return {{"input", difference->input}, {"output", difference->output}, {"what", difference->what}};
}

ordered_json outputs_json(const search::EquivalenceReport& report) {
  ordered_json outputs = ordered_json::array();
  for (const search::OutputError& output : report.outputs) {
    outputs.push_back({{"name", output.name},
                       {"equal", output.equal},
                       {"max_abs_error", output.max_abs_error},
                       {"max_rel_error", output.max_rel_error}});
  }
  return outputs;
}

ordered_json judge_json(const search::JudgeReport& judge) {
  ordered_json json{{"runtime", judge.runtime}, {"looked", judge.looked}};
  if (!judge.looked) {
    json["reason"] = judge.reason;
    return json;
  }
  const search::EquivalenceReport& report = judge.equivalence;
  json["equal"] = report.equal;
  json["samples"] = report.samples;
  json["ill_conditioned"] = report.ill_conditioned;
  json["max_rel_error"] = report.max_rel_error();
  json["difference"] = difference_json(report.difference);
  json["note"] = judge.note;
  return json;
}

}  // namespace soapstone::cli
