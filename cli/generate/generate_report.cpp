// See generate_report.h.
#include "cli/generate/generate_report.h"

#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/cost_rules/gain_json.h"
#include "cli/reports/json_text.h"

namespace soapstone::cli {
namespace {

nlohmann::ordered_json gains_json(std::span<const jobs::NotedGain> gains) {
  auto json = nlohmann::ordered_json::array();
  for (const jobs::NotedGain& noted : gains) {
    nlohmann::ordered_json entry = {{"rule", noted.rule}, {"costs", noted.costs}};
    entry.update(gain_json(noted.gain));
    json.push_back(std::move(entry));
  }
  return json;
}

nlohmann::ordered_json unproved_json(std::span<const jobs::UnprovedRule> unproved) {
  auto json = nlohmann::ordered_json::array();
  for (const jobs::UnprovedRule& u : unproved)
    json.push_back(
        {{"verdict", verifier::to_string(u.kind)}, {"reason", u.reason}, {"rule", u.text}});
  return json;
}

}  // namespace

std::string generate_text(const jobs::GenerateRequest& request,
                          const jobs::GenerateOutcome& outcome, bool only_counts) {
  const generator::ReduceStatistics& reduced = outcome.reduced;
  std::string text = fmt::format(
      "{} equalities: {} follow from others, {} hold for some sizes or values only, {} cannot be "
      "written as a rule, {} are of constants alone\n"
      "{} candidates and {} with several results; {} kept, {} rules written to {}\n",
      reduced.pairs, reduced.derived, reduced.wrong, reduced.without_rule, reduced.of_constants,
      reduced.kept, outcome.with_several_results, outcome.kept, outcome.rules.size(),
      request.output);
  text += fmt::format("CPU seconds: {:.2f} enumerating, {:.2f} leaving out, {:.2f} minimizing and "
                      "proving ({:.2f} of these proving)\n",
                      outcome.enumerate_s, outcome.reduce_s, outcome.minimize_s,
                      outcome.prove_ms / 1e3);
  if (const auto& c = outcome.check) {
    text += fmt::format("Of the equalities {} are derived by saturation from what is written, {} "
                        "are no rules, {} are wrong at other sizes or values, {} are not derived\n",
                        c->derived, c->no_rules, c->wrong, c->lost.size());
    if (!only_counts)
      for (const std::string& lost : c->lost) text += "not derived: " + lost + "\n";
  }
  if (only_counts || outcome.unproved.empty()) return text;
  text += fmt::format("\nNot proved, and left out: {}\n", outcome.unproved.size());
  for (const jobs::UnprovedRule& u : outcome.unproved)
    text += fmt::format("\n# {}: {}\n{}", verifier::to_string(u.kind), u.reason, u.text);
  return text;
}

std::string generate_json(const jobs::GenerateOutcome& outcome) {
  auto levels = nlohmann::ordered_json::array();
  for (const generator::LevelStatistics& level : outcome.levels)
    levels.push_back({{"ops", level.ops},
                      {"candidates", level.candidates},
                      {"classes", level.classes},
                      {"pairs", level.pairs}});
  auto names = nlohmann::ordered_json::array();
  for (const jobs::NamedRule& rule : outcome.rules) names.push_back(rule.name);
  nlohmann::ordered_json check;
  if (const auto& c = outcome.check)
    check = {{"derived", c->derived},
             {"no_rules", c->no_rules},
             {"wrong", c->wrong},
             {"not_derived", c->lost}};
  return json_text({{"levels", std::move(levels)},
                    {"peak_memory_bytes", outcome.peak_memory_bytes},
                    {"equalities", outcome.reduced.pairs},
                    {"derived", outcome.reduced.derived},
                    {"wrong", outcome.reduced.wrong},
                    {"without_rule", outcome.reduced.without_rule},
                    {"of_constants", outcome.reduced.of_constants},
                    {"candidates", outcome.reduced.kept},
                    {"with_several_results", outcome.with_several_results},
                    {"kept", outcome.kept},
                    {"rules", std::move(names)},
                    {"gains", gains_json(outcome.gains)},
                    {"check", std::move(check)},
                    {"unproved", unproved_json(outcome.unproved)},
                    {"enumerate_cpu_s", outcome.enumerate_s},
                    {"reduce_cpu_s", outcome.reduce_s},
                    {"minimize_cpu_s", outcome.minimize_s},
                    {"prove_cpu_s", outcome.prove_ms / 1e3}});
}

}  // namespace soapstone::cli
