// Layout of verify-rules' report.
#include "cli/verify/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;
using verifier::RuleVerdict;
using verifier::VerdictKind;

std::string joined(const std::vector<std::string>& conditions) {
  std::string text;
  for (const std::string& condition : conditions) {
    text += text.empty() ? "" : ", ";
    text += condition;
  }
  return text;
}

/// A proof for some values of parameters has a name of its own.
bool is_proved_at_values(const RuleVerdict& v) {
  return v.kind == VerdictKind::kProved && !v.only_values.empty();
}

/// The guard of the rule; for a refuted one the conditions under which it would be right.
std::string guard_of(const RuleVerdict& v) {
  return joined(v.kind == VerdictKind::kRefuted ? v.saving_guard : v.guard);
}

std::string reason_of(const RuleVerdict& v) {
  switch (v.kind) {
  case VerdictKind::kProved:
    return v.only_values.empty() ? "" : "for " + verifier::set_text(v.only_values);
  case VerdictKind::kRefuted:
    return v.saving_guard.empty() ? "a counterexample, below" : "proved under the guard only";
  case VerdictKind::kUnknown:
    return v.instance == v.rule ? v.reason : v.instance + ": " + v.reason;
  }
  return "";
}

/// Files of other systems have no lines.
std::string place_of(const RuleVerdict& v) {
  return v.line > 0 ? fmt::format("{}:{}", v.file.string(), v.line) : v.file.string();
}

std::string counterexample_text(const RuleVerdict& v) {
  std::string sizes;
  for (const auto& [name, value] : v.refutation->sizes) sizes += fmt::format(" {}={}", name, value);
  std::string text = fmt::format("{}: {} is wrong at{}\n", place_of(v), v.instance,
                                 sizes.empty() ? " all sizes" : sizes);
  for (std::string_view rest = v.refutation->text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("    {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

/// JSON has no infinities.
ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

ordered_json counterexample_json(const RuleVerdict& v) {
  const verifier::Refutation& example = *v.refutation;
  ordered_json json{{"instance", v.instance}, {"sizes", ordered_json::object()}};
  for (const auto& [name, value] : example.sizes) json["sizes"][name] = value;
  json["inputs"] = ordered_json::array();
  for (const auto& [name, literal] : example.inputs) {
    ordered_json values = ordered_json::array();
    for (const double value : literal->to_doubles()) values.push_back(number(value));
    json["inputs"].push_back({{"name", name}, {"shape", literal->dims()}, {"values", values}});
  }
  json["values"] = {{"output", example.output},
                    {"element", example.element},
                    {"source", number(example.source)},
                    {"target", number(example.target)}};
  json["text"] = example.text;
  return json;
}

ordered_json to_json(const RuleVerdict& v) {
  ordered_json json{{"rule", v.rule},
                    {"file", v.file.string()},
                    {"line", v.line},
                    {"verdict", verifier::to_string(v.kind)},
                    {"instances", v.instances},
                    {"sizes", v.check_sizes},
                    {"second_opinion_sizes", v.second_sizes}};
  if (const std::string guard = guard_of(v); !guard.empty()) json["guard"] = guard;
  if (v.kind == VerdictKind::kRefuted && !v.saving_guard.empty())
    json["guarded_verdict"] = "proved";
  if (v.kind != VerdictKind::kRefuted) {
    json["types"] = rules::to_string(v.types);
    json["floats"] = rules::to_string(v.floats);
    json["edges"] = rules::to_string(v.edges);
  }
  if (is_proved_at_values(v)) {
    json["values"] = ordered_json::array();
    for (const verifier::NamedValues& values : v.only_values) {
      ordered_json& one = json["values"].emplace_back(ordered_json::object());
      for (const auto& [name, value] : values)
        std::visit([&, &key = name](auto number) { one[key] = number; }, value);
    }
  }
  if (v.refutation) json["counterexample"] = counterexample_json(v);
  if (v.kind == VerdictKind::kUnknown) {
    json["instance"] = v.instance;
    json["reason"] = v.reason;
  }
  if (!v.disagreement.empty()) json["disagreement"] = v.disagreement;
  json["cpu_ms"] = v.cpu_ms;
  return json;
}

/// The worst that can be found: it outweighs every verdict.
core::Status refuse_disagreement(const std::vector<RuleVerdict>& verdicts) {
  const auto disputed = [](const RuleVerdict& v) { return !v.disagreement.empty(); };
  const auto first = std::ranges::find_if(verdicts, disputed);
  if (first == verdicts.end()) return core::Done{};
  const auto others = std::ranges::count_if(verdicts, disputed) - 1;
  return core::Error{core::ErrorCode::kInternal,
                     fmt::format("{} was proved, but {}{}", first->instance, first->disagreement,
                                 others > 0 ? fmt::format("; so were {} other rules", others) : ""),
                     fmt::format("{}:{}", first->file.string(), first->line),
                     "this is a fault of the prover: please report it with the rule"};
}

}  // namespace

std::string verdicts_text(const std::vector<RuleVerdict>& verdicts, bool only_unproved) {
  constexpr auto kRight = Align::kRight;
  constexpr int kGuardWidth = 40;
  Table table({{"rule"},
               {"instances", kRight},
               {"verdict"},
               {"guard"},
               {"types"},
               {"floats"},
               {"ms", kRight},
               {"reason"},
               {"edges"}});
  std::string examples;
  std::size_t instances = 0, counts[3] = {}, at_values = 0;
  for (const RuleVerdict& v : verdicts) {
    instances += v.instances;
    ++counts[static_cast<std::size_t>(v.kind)];
    if (is_proved_at_values(v)) ++at_values;
    if (only_unproved && v.kind == VerdictKind::kProved) continue;
    const bool wrong = v.kind == VerdictKind::kRefuted;
    table.add_row(
        {v.rule, fmt::to_string(v.instances),
         is_proved_at_values(v) ? "proved at values" : std::string(verifier::to_string(v.kind)),
         cut_to_width(guard_of(v), kGuardWidth), wrong ? "-" : rules::to_string(v.types),
         wrong ? "-" : std::string(rules::to_string(v.floats)), fmt::format("{:.1f}", v.cpu_ms),
         reason_of(v), wrong ? "-" : rules::to_string(v.edges)});
    if (v.refutation) examples += counterexample_text(v);
  }
  std::string text = table.empty() ? "" : table.to_string();
  if (!examples.empty()) text += "\n" + examples;
  if (!only_unproved)
    text += fmt::format("\n{} rules, {} instances: {} proved{}, {} refuted, {} unknown\n",
                        verdicts.size(), instances, counts[0],
                        at_values == 0 ? "" : fmt::format(" ({} at values)", at_values), counts[1],
                        counts[2]);
  return text;
}

std::string verdicts_json(const std::vector<RuleVerdict>& verdicts) {
  ordered_json list = ordered_json::array();
  for (const RuleVerdict& v : verdicts) list.push_back(to_json(v));
  return json_text({{"rules", std::move(list)}});
}

core::Status conclude_verify(const std::vector<RuleVerdict>& verdicts) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_disagreement(verdicts));
  const auto count = [&](VerdictKind kind) {
    return std::ranges::count(verdicts, kind, &RuleVerdict::kind);
  };
  if (const auto refuted = count(VerdictKind::kRefuted); refuted > 0)
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("{} of {} rules are refuted", refuted, verdicts.size()),
                       {},
                       "the report says where the two sides differ"};
  if (const auto unknown = count(VerdictKind::kUnknown); unknown > 0)
    return core::Error{
        core::ErrorCode::kUnsupported,
        fmt::format("{} of {} rules are neither proved nor refuted", unknown, verdicts.size()),
        {},
        "the report says why; optimize-graph does not use them"};
  return core::Done{};
}

}  // namespace soapstone::cli
