// Layout of the explanation.
#include "cli/optimize/explanation_report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/drawing/graph_drawing.h"
#include "cli/optimize/explanation_drawing.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

/// Operators of one side that are shown; the JSON has all.
constexpr std::size_t kMostOperators = 40;
constexpr std::size_t kMostPlaces = 4;
constexpr std::size_t kMostInputs = 12;
/// Columns of an expression; names of nodes stand to the right of it.
constexpr std::size_t kWidest = 84;
constexpr std::size_t kWidestEquation = 88;

std::string gain_text(double us) { return fmt::format("{:+.1f} us", us); }

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t columns = display_width(text);
  return columns < width ? text + std::string(width - columns, ' ') : text;
}

/// "... and 3 more operators"
std::string rest_text(std::size_t all, std::size_t shown, std::string_view noun) {
  return fmt::format("    ... and {} more {}\n", all - shown, noun);
}

std::string operators_text(const std::vector<jobs::ExplainedOperator>& operators) {
  const std::size_t shown = std::min(operators.size(), kMostOperators);
  std::vector<std::string> lines;
  std::size_t width = 0;
  for (std::size_t k = 0; k < shown; ++k) {
    lines.push_back(fmt::format("{}  {}", operators[k].text(), operators[k].shape));
    width = std::max(width, std::min(display_width(lines.back()), kWidest));
  }
  std::string text;
  for (std::size_t k = 0; k < shown; ++k) {
    const std::string note =
        operators[k].is_constant ? "(of weights: once, not in each run)" : operators[k].node;
    text +=
        fmt::format("    {}\n", note.empty() ? lines[k] : padded(lines[k], width) + "  " + note);
  }
  if (operators.empty()) text += "    nothing\n";
  if (operators.size() > shown) text += rest_text(operators.size(), shown, "operators");
  return text;
}

std::string inputs_text(const jobs::ExplainedChange& change) {
  std::string text;
  for (const bool constant : {false, true}) {
    std::string line;
    std::size_t count = 0;
    for (const jobs::ExplainedInput& input : change.inputs) {
      if (input.is_constant != constant || ++count > kMostInputs) continue;
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", input.name, input.shape);
      if (!constant && !input.tensor.empty()) line += fmt::format(" ({})", input.tensor);
    }
    if (count > kMostInputs) line += fmt::format(", and {} more", count - kMostInputs);
    if (count > 0) text += fmt::format("  {} {}\n", constant ? "weights:" : "reads:  ", line);
  }
  return text;
}

std::string rules_text(const std::vector<jobs::ExplainedRule>& rules, std::set<std::string>& met) {
  std::string text;
  for (const jobs::ExplainedRule& rule : rules) {
    const std::string name =
        rule.count > 1 ? fmt::format("{} x {}", rule.count, rule.rule) : rule.rule;
    text += fmt::format("    {:>12}  {}\n", gain_text(rule.gain_us), name);
    if (!met.insert(rule.rule).second) continue;
    if (!rule.description.empty()) text += fmt::format("{:18}{}\n", "", rule.description);
    const std::string between = rule.source.size() + rule.target.size() < kWidestEquation
                                    ? " "
                                    : fmt::format("\n{:16}", "");
    text += fmt::format("{:18}{}{}= {}\n", "", rule.source, between, rule.target);
  }
  return text;
}

/// The first node of every other place that was changed in the same way.
std::string places_text(const jobs::ExplainedChange& change) {
  std::vector<std::string> names;
  for (std::size_t k = 1; k < change.places.size(); ++k)
    if (!change.places[k].empty()) names.push_back(change.places[k].front());
  if (names.empty()) return {};
  const std::size_t shown = std::min(names.size(), kMostPlaces);
  const std::string more =
      names.size() > shown ? fmt::format(", and {} more", names.size() - shown) : "";
  names.resize(shown);
  return fmt::format("  likewise at: {}{}\n", fmt::join(names, ", "), more);
}

std::string change_text(const jobs::ExplainedChange& change, std::size_t number, std::size_t all,
                        std::set<std::string>& met) {
  const std::size_t places = change.places.size();
  std::string text = fmt::format("\nchange {} of {}: {}", number, all, gain_text(change.gain_us));
  if (places > 1) {
    text += fmt::format(" in {} places, {} in each; the first:", places,
                        gain_text(change.gain_us / static_cast<double>(places)));
  }
  text += '\n' + inputs_text(change);
  text += "  before:\n" + operators_text(change.before);
  text += "  rules, in order, with what each gains:\n" + rules_text(change.rules, met);
  text += "  now:\n" + operators_text(change.after);
  return text + places_text(change);
}

std::string baseline_text(const jobs::ExplainedResult& result) {
  if (result.baseline.empty() && result.merged_duplicates == 0) return {};
  std::string text = "\nbefore the search, as any runtime does (not counted as gain):\n";
  for (const jobs::ExplainedBaselineRule& rule : result.baseline)
    text += fmt::format("  {:>5} x {}: {}\n", rule.count, rule.rule, rule.description);
  if (result.merged_duplicates > 0)
    text += fmt::format("  {:>5} x operators that computed the same twice were merged\n",
                        result.merged_duplicates);
  return text;
}

/// Tells the changes of the graph around bodies, or of one body.
std::string changes_text(const jobs::ExplainedResult& result, std::set<std::string>& met) {
  std::string text = baseline_text(result);
  if (result.changes.empty()) return text + "\nthe search changed nothing\n";
  if (met.empty())
    text += "\nGains are predicted microseconds a run; a negative one enables later rules.\n";
  for (std::size_t k = 0; k < result.changes.size(); ++k)
    text += change_text(result.changes[k], k + 1, result.changes.size(), met);
  return text;
}

ordered_json operators_json(const std::vector<jobs::ExplainedOperator>& operators) {
  ordered_json json = ordered_json::array();
  for (const jobs::ExplainedOperator& op : operators) {
    json.push_back({{"results", op.results},
                    {"operator", op.op},
                    {"arguments", op.arguments},
                    {"attributes", op.attributes},
                    {"shape", op.shape},
                    {"node", op.node.empty() ? ordered_json(nullptr) : ordered_json(op.node)},
                    {"constant", op.is_constant}});
  }
  return json;
}

ordered_json change_json(const jobs::ExplainedChange& change) {
  ordered_json json = {{"gain_us", change.gain_us},       {"places", change.places},
                       {"inputs", ordered_json::array()}, {"before", operators_json(change.before)},
                       {"rules", ordered_json::array()},  {"after", operators_json(change.after)}};
  for (const jobs::ExplainedInput& input : change.inputs) {
    json["inputs"].push_back({{"name", input.name},
                              {"shape", input.shape},
                              {"tensor", input.tensor},
                              {"constant", input.is_constant}});
  }
  for (const jobs::ExplainedRule& rule : change.rules) {
    json["rules"].push_back({{"rule", rule.rule},
                             {"instance", rule.instance},
                             {"description", rule.description},
                             {"equation", rule.source + " = " + rule.target},
                             {"count", rule.count},
                             {"gain_us", rule.gain_us}});
  }
  return json;
}

}  // namespace

std::string explanation_text(const jobs::ExplainedResult& result) {
  std::set<std::string> met;
  std::string text = "\nexplanation\n" + changes_text(result, met);
  for (const jobs::ExplainedBody& body : result.bodies)
    text += fmt::format("\nin the {}, as a model of its own\n{}", body.where,
                        changes_text(body.explanation, met));
  return text;
}

ordered_json explanation_json(const jobs::ExplainedResult& result) {
  ordered_json json = {{"baseline", ordered_json::array()},
                       {"merged_duplicates", result.merged_duplicates},
                       {"changes", ordered_json::array()}};
  for (const jobs::ExplainedBaselineRule& rule : result.baseline) {
    json["baseline"].push_back(
        {{"rule", rule.rule}, {"description", rule.description}, {"count", rule.count}});
  }
  for (const jobs::ExplainedChange& change : result.changes)
    json["changes"].push_back(change_json(change));
  if (result.bodies.empty()) return json;
  json["bodies"] = ordered_json::array();
  for (const jobs::ExplainedBody& body : result.bodies) {
    ordered_json one = {{"body", body.where}};
    one.update(explanation_json(body.explanation));
    json["bodies"].push_back(std::move(one));
  }
  return json;
}

core::Status write_explanation(const std::filesystem::path& path,
                               const jobs::ExplainedResult& result) {
  if (path.extension() == ".dot") return write_text(path, explanation_dot(result));
  if (path.extension() == ".svg") return write_svg(path, explanation_dot(result));
  return write_text(path, explanation_text(result));
}

}  // namespace soapstone::cli
