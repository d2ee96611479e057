// See derivability_report.h.
#include "cli/derivability_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/belief.h"
#include "cli/rule_files.h"
#include "cli/table.h"

namespace soapstone::cli {
namespace {

using generator::Derivability;
using generator::RuleDerivability;
using nlohmann::ordered_json;

/// What the rules are to be derived from.
struct Premises {
  rules::SaturationRules rules;
  std::size_t left_out = 0;  ///< Sources in parts that share no tensor.
  std::size_t reversed = 0;
};

/// What follows from a rule without a proof is not proved either, so rules of the user's own are
/// proved first; the log tells of those that cannot be.
core::Result<std::vector<rules::Rule>> read_premise_file(const std::string& file,
                                                         Session& session) {
  if (!is_own_rule_file(file)) {
    SOAPSTONE_ASSIGN_OR_RETURN(RuleFileContents contents, read_rule_file(file));
    return std::move(contents.rules);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto read, read_believed(file, false, session));
  for (const rules::Rule& rule : read) {
    if (rule.evidence.kind == rules::Evidence::Kind::kProved) continue;
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("{}:{}: rule {} has no proof, nor has what follows from it",
                                    rule.file.string(), rule.line, rule.name));
    break;
  }
  return read;
}

core::Result<Premises> read_premises(const DerivabilityCommand& command, Session& session) {
  Premises premises;
  std::vector<std::string> files;
  for (const std::string& name : command.from) {
    const auto more = files_called(name);
    files.insert(files.end(), more.begin(), more.end());
  }
  for (const std::string& file : files) {
    session.console.stage("reading " + file);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto read, read_premise_file(file, session));
    for (const rules::Rule& rule : read) {
      if (!premises.rules.add(rule)) ++premises.left_out;
      if (!command.both_ways) continue;
      const auto turned = generator::reversed(rule);
      if (turned && premises.rules.add(*turned)) ++premises.reversed;
    }
  }
  return premises;
}

std::string_view verdict_text(const RuleDerivability& rule) {
  return rule.verdict ? to_string(*rule.verdict) : "no sizes found";
}

std::size_t count(const std::vector<RuleDerivability>& rules, std::optional<Derivability> verdict) {
  return static_cast<std::size_t>(std::ranges::count(rules, verdict, &RuleDerivability::verdict));
}

std::string text_of(const std::vector<RuleDerivability>& rules, bool only_open) {
  constexpr auto kRight = Align::kRight;
  Table table({{"rule"},
               {"instances", kRight},
               {"derivable", kRight},
               {"verdict"},
               {"e-nodes", kRight},
               {"ms", kRight},
               {"first that is not"}});
  for (const RuleDerivability& r : rules) {
    if (only_open && r.verdict == Derivability::kYes) continue;
    table.add_row({r.rule, fmt::to_string(r.instances), fmt::to_string(r.derivable),
                   std::string(verdict_text(r)), fmt::to_string(r.nodes),
                   fmt::format("{:.1f}", r.cpu_ms), r.instance});
  }
  std::string text = table.empty() ? "" : table.to_string();
  double cpu_ms = 0;
  for (const RuleDerivability& r : rules) cpu_ms += r.cpu_ms;
  text +=
      fmt::format("\n{} rules: {} derivable, {} not derivable, {} not within the limits, {} "
                  "without sizes; {:.2f} CPU s\n",
                  rules.size(), count(rules, Derivability::kYes), count(rules, Derivability::kNo),
                  count(rules, Derivability::kLimit), count(rules, std::nullopt), cpu_ms / 1e3);
  return text;
}

ordered_json json_of(const std::vector<RuleDerivability>& rules, const Premises& premises) {
  ordered_json list = ordered_json::array();
  for (const RuleDerivability& r : rules)
    list.push_back({{"rule", r.rule},
                    {"file", r.file.string()},
                    {"line", r.line},
                    {"instances", r.instances},
                    {"derivable", r.derivable},
                    {"verdict", verdict_text(r)},
                    {"instance", r.instance},
                    {"nodes", r.nodes},
                    {"cpu_ms", r.cpu_ms}});
  return {{"from", premises.rules.size()},
          {"from_reversed", premises.reversed},
          {"from_left_out", premises.left_out},
          {"derivable", count(rules, Derivability::kYes)},
          {"not_derivable", count(rules, Derivability::kNo)},
          {"not_within_limits", count(rules, Derivability::kLimit)},
          {"without_sizes", count(rules, std::nullopt)},
          {"rules", std::move(list)}};
}

}  // namespace

void add_derivability_options(CLI::App& app, DerivabilityCommand& command) {
  auto* from = app.add_option("--derivable-from", command.from,
                              "Instead, say which rules follow from those of this file, by "
                              "equality saturation; `shipped`: from the shipped ones; may be "
                              "repeated")
                   ->type_name("FILE")
                   ->allow_extra_args(false);
  app.add_flag("--both-ways", command.both_ways, "Use those rules from right to left, too")
      ->needs(from);
  app.add_flag("--require-derivable", command.require, "Exit with 5 unless all rules follow")
      ->needs(from);
  app.add_option("--derivation-nodes", command.options.limits.nodes,
                 "E-nodes up to which a derivation is looked for")
      ->type_name("N")
      ->needs(from)
      ->check(CLI::Range(1, 100'000'000).description(""))
      ->capture_default_str();
  app.add_option("--samples", command.options.samples,
                 "Values of strides, permutations and the like at which a rule is looked at")
      ->type_name("N")
      ->needs(from)
      ->check(CLI::Range(1, 1000).description(""))
      ->capture_default_str();
}

core::Status report_derivability(const std::vector<rules::Rule>& rules,
                                 const DerivabilityCommand& command, bool only_open,
                                 Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Premises premises, read_premises(command, session));
  session.console.stage(
      fmt::format("deriving {} rules from {}", rules.size(), premises.rules.size()));
  const auto found = generator::derivability(rules, premises.rules, command.options,
                                             session.console, session.stop);
  SOAPSTONE_RETURN_IF_ERROR(session.report(text_of(found, only_open), json_of(found, premises)));
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  const std::size_t open = found.size() - count(found, Derivability::kYes);
  if (!command.require || open == 0) return core::Done{};
  return core::Error{core::ErrorCode::kRequirementNotMet,
                     fmt::format("{} of {} rules are not derivable", open, found.size()),
                     {},
                     "the report lists them; --derivation-nodes looks further"};
}

}  // namespace soapstone::cli
