// See derivability_report.h.
#include "cli/verify/derivability_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"

namespace soapstone::cli {
namespace {

using generator::Derivability;
using generator::RuleDerivability;
using nlohmann::ordered_json;

std::string_view verdict_text(const RuleDerivability& rule) {
  return rule.verdict ? to_string(*rule.verdict) : "no sizes found";
}

}  // namespace

std::string derivability_text(const jobs::DeriveOutcome& outcome, bool only_open) {
  constexpr auto kRight = Align::kRight;
  Table table({{"rule"},
               {"instances", kRight},
               {"derivable", kRight},
               {"verdict"},
               {"e-nodes", kRight},
               {"ms", kRight},
               {"first that is not"}});
  for (const RuleDerivability& r : outcome.rules) {
    if (only_open && r.verdict == Derivability::kYes) continue;
    table.add_row({r.rule, fmt::to_string(r.instances), fmt::to_string(r.derivable),
                   std::string(verdict_text(r)), fmt::to_string(r.nodes),
                   fmt::format("{:.1f}", r.cpu_ms), r.instance});
  }
  std::string text = table.empty() ? "" : table.to_string();
  double cpu_ms = 0;
  for (const RuleDerivability& r : outcome.rules) cpu_ms += r.cpu_ms;
  text += fmt::format("\n{} rules: {} derivable, {} not derivable, {} not within the limits, {} "
                      "without sizes; {:.2f} CPU s\n",
                      outcome.rules.size(), outcome.count(Derivability::kYes),
                      outcome.count(Derivability::kNo), outcome.count(Derivability::kLimit),
                      outcome.count(std::nullopt), cpu_ms / 1e3);
  return text;
}

std::string derivability_json(const jobs::DeriveOutcome& outcome) {
  ordered_json list = ordered_json::array();
  for (const RuleDerivability& r : outcome.rules)
    list.push_back({{"rule", r.rule},
                    {"file", r.file.string()},
                    {"line", r.line},
                    {"instances", r.instances},
                    {"derivable", r.derivable},
                    {"verdict", verdict_text(r)},
                    {"instance", r.instance},
                    {"nodes", r.nodes},
                    {"cpu_ms", r.cpu_ms}});
  return json_text({{"from", outcome.premises},
                    {"from_reversed", outcome.reversed},
                    {"from_left_out", outcome.left_out},
                    {"derivable", outcome.count(Derivability::kYes)},
                    {"not_derivable", outcome.count(Derivability::kNo)},
                    {"not_within_limits", outcome.count(Derivability::kLimit)},
                    {"without_sizes", outcome.count(std::nullopt)},
                    {"rules", std::move(list)}});
}

core::Status require_derivable(const jobs::DeriveOutcome& outcome) {
  const std::size_t open = outcome.rules.size() - outcome.count(Derivability::kYes);
  if (open == 0) return core::Done{};
  return core::Error{core::ErrorCode::kRequirementNotMet,
                     fmt::format("{} of {} rules are not derivable", open, outcome.rules.size()),
                     {},
                     "the report lists them; --derivation-nodes looks further"};
}

}  // namespace soapstone::cli
