// Layout of verify-rules' report.
#include "cli/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "verifier/questions/z3_solver.h"

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

/// Of a refuted rule: under which conditions it would be right.
std::string guard_of(const RuleVerdict& v) {
  return joined(v.kind == VerdictKind::kRefuted ? v.saving_guard : v.guard);
}

std::string reason_of(const RuleVerdict& v) {
  switch (v.kind) {
  case VerdictKind::kProved:
    return "";
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
  if (v.refutation) json["counterexample"] = counterexample_json(v);
  if (v.kind == VerdictKind::kUnknown) {
    json["instance"] = v.instance;
    json["reason"] = v.reason;
  }
  if (!v.disagreement.empty()) json["disagreement"] = v.disagreement;
  json["cpu_ms"] = v.cpu_ms;
  return json;
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
  std::size_t instances = 0, counts[3] = {};
  for (const RuleVerdict& v : verdicts) {
    instances += v.instances;
    ++counts[static_cast<std::size_t>(v.kind)];
    if (only_unproved && v.kind == VerdictKind::kProved) continue;
    const bool wrong = v.kind == VerdictKind::kRefuted;
    table.add_row({v.rule, fmt::to_string(v.instances), std::string(verifier::to_string(v.kind)),
                   cut_to_width(guard_of(v), kGuardWidth), wrong ? "-" : rules::to_string(v.types),
                   wrong ? "-" : std::string(rules::to_string(v.floats)),
                   fmt::format("{:.1f}", v.cpu_ms), reason_of(v),
                   wrong ? "-" : rules::to_string(v.edges)});
    if (v.refutation) examples += counterexample_text(v);
  }
  std::string text = table.empty() ? "" : table.to_string();
  if (!examples.empty()) text += "\n" + examples;
  if (!only_unproved)
    text += fmt::format("\n{} rules, {} instances: {} proved, {} refuted, {} unknown\n",
                        verdicts.size(), instances, counts[0], counts[1], counts[2]);
  return text;
}

ordered_json verdicts_json(const std::vector<RuleVerdict>& verdicts) {
  ordered_json list = ordered_json::array();
  for (const RuleVerdict& v : verdicts) list.push_back(to_json(v));
  return list;
}

rules::EvidenceLine evidence_of(const RuleVerdict& v) {
  rules::EvidenceLine line;
  line.floats = v.floats;
  line.types = v.types;
  line.edges = v.edges;
  using Kind = rules::Evidence::Kind;
  // A law of a function holds in doubles only: the field knows nothing of it.
  if (v.kind == VerdictKind::kProved) {
    const std::string values =
        v.only_values.empty() ? "" : fmt::format("; values: {}", fmt::join(v.only_values, " or "));
    line.evidence = {Kind::kProved,
                     fmt::format("all-sizes{}{}; verifier {}; z3 {}",
                                 v.law_of_function ? ", a law of functions" : "", values,
                                 verifier::kVersion, verifier::z3_version())};
  } else if (v.kind == VerdictKind::kUnknown && v.check_sizes > 0 && v.disagreement.empty()) {
    line.evidence = {
        Kind::kChecked,
        fmt::format("{}, {} sizes", v.law_of_function ? "doubles" : "2^61-1", v.check_sizes)};
  }
  return line;
}

}  // namespace soapstone::cli
