// See cost_rules_report.h.
#include "cli/cost_rules/cost_rules_report.h"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/cost_rules/gain_json.h"
#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"

namespace soapstone::cli {
namespace {

std::string timed_text(const jobs::CostedRule& row) {
  if (!row.timed) return "";
  const cost::RatioInterval& r = row.timed->ratio;
  return row.gain.target_us == 0
             ? fmt::format("{:.1f} us to none", row.timed->a.median_us)
             : fmt::format("{:.3f} ({:.3f} to {:.3f})", r.median, r.low, r.high);
}

}  // namespace

std::string cost_rules_text(const jobs::CostRulesRequest& request,
                            const jobs::CostRulesOutcome& outcome, bool only_paying) {
  std::vector<Table::Column> columns = {{"rule"}, {"instances", Align::kRight}, {"what it gains"}};
  if (request.time) columns.push_back({"timed in turn"});
  Table table(columns);
  std::size_t pay = 0;
  for (const jobs::CostedRule& row : outcome.rules) {
    const bool pays = row.gain.pays();
    pay += pays ? 1 : 0;
    if (only_paying && !pays) continue;
    std::vector<std::string> cells = {row.rule, fmt::to_string(row.instances),
                                      jobs::gain_text(row.gain, jobs::to_string(request.costs))};
    if (request.time) cells.push_back(timed_text(row));
    table.add_row(std::move(cells));
  }
  std::string text = table.empty() ? "" : table.to_string();
  text += fmt::format("\n{} rules: {} pay by themselves, {} enable others; costs: {}\n",
                      outcome.rules.size(), pay, outcome.rules.size() - pay, outcome.description);
  return text;
}

std::string cost_rules_json(const jobs::CostRulesOutcome& outcome) {
  auto list = nlohmann::ordered_json::array();
  for (const jobs::CostedRule& row : outcome.rules) {
    nlohmann::ordered_json entry = {
        {"rule", row.rule}, {"equation", row.equation}, {"instances", row.instances}};
    entry.update(gain_json(row.gain));
    if (row.timed)
      entry["timed"] = {{"source_us", row.timed->a.median_us},
                        {"target_us", row.timed->b.median_us},
                        {"ratio", row.timed->ratio.median},
                        {"low", row.timed->ratio.low},
                        {"high", row.timed->ratio.high},
                        {"rounds", row.timed->a.rounds},
                        {"faster", row.is_faster()}};
    list.push_back(std::move(entry));
  }
  return json_text({{"costs", outcome.costs}, {"rules", std::move(list)}});
}

}  // namespace soapstone::cli
