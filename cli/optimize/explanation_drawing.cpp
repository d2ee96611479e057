// See explanation_drawing.h. A change is a box with two boxes in it.
#include "cli/optimize/explanation_drawing.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/drawing/graph_drawing.h"

namespace soapstone::cli {
namespace {

constexpr std::size_t kInARow = 3;  // changes

/// Inside double quotes of DOT.
std::string operator_label(const jobs::ExplainedOperator& op) {
  std::string label = dot_escaped(op.op);
  for (const std::string& argument : op.arguments)
    if (argument.find_first_of("0123456789") == 0 || argument[0] == '-') label += " " + argument;
  if (!op.attributes.empty()) label += "\\n" + dot_escaped(op.attributes);
  label += "\\n" + dot_escaped(op.shape);
  if (!op.node.empty()) label += "\\n" + dot_escaped(op.node);
  return label;
}

/// One side of a change. `prefix` makes its names differ from all others.
std::string side_text(const jobs::ExplainedChange& change,
                      const std::vector<jobs::ExplainedOperator>& side, const std::string& prefix,
                      std::string_view title) {
  std::string text =
      fmt::format("    subgraph cluster_{} {{\n      label=\"{}\";\n", prefix, title);
  std::map<std::string, std::string> source;  // of each name
  std::string edges;
  for (std::size_t k = 0; k < side.size(); ++k) {
    const std::string id = fmt::format("{}_{}", prefix, k);
    text += fmt::format("      {} [label=\"{}\"{}];\n", id, operator_label(side[k]),
                        side[k].is_constant ? ", style=\"rounded,dashed\"" : "");
    for (const std::string& argument : side[k].arguments) {
      const auto known = source.find(argument);
      if (known != source.end()) edges += fmt::format("      {} -> {};\n", known->second, id);
    }
    for (const std::string& result : side[k].results) source[result] = id;
  }
  for (std::size_t k = 0; k < change.inputs.size(); ++k) {
    const jobs::ExplainedInput& input = change.inputs[k];
    std::string readers;
    const std::string id = fmt::format("{}_in{}", prefix, k);
    for (std::size_t reader = 0; reader < side.size(); ++reader)
      for (const std::string& argument : side[reader].arguments)
        if (argument == input.name)
          readers += fmt::format("      {} -> {}_{};\n", id, prefix, reader);
    if (readers.empty()) continue;
    text +=
        fmt::format("      {} [shape=ellipse, label=\"{} {}\"{}];\n{}", id, dot_escaped(input.name),
                    dot_escaped(input.shape), input.is_constant ? ", style=dashed" : "", readers);
  }
  return text + edges + "    }\n";
}

std::string rules_label(const jobs::ExplainedChange& change) {
  std::string label;
  for (const jobs::ExplainedRule& rule : change.rules) {
    label +=
        fmt::format("\\l{:+.1f} us  {}{}", rule.gain_us,
                    rule.count > 1 ? fmt::format("{} x ", rule.count) : "", dot_escaped(rule.rule));
  }
  return label + "\\l";
}

struct DrawnChange {
  const jobs::ExplainedChange* change;
  std::string title;
};

std::vector<DrawnChange> all_changes(const jobs::ExplainedResult& result) {
  std::vector<DrawnChange> all;
  const auto add = [&](const jobs::ExplainedResult& part, const std::string& where) {
    for (std::size_t k = 0; k < part.changes.size(); ++k) {
      const std::size_t places = part.changes[k].places.size();
      all.push_back(
          {&part.changes[k], fmt::format("change {}{}: {:+.1f} us in {} place{}", k + 1, where,
                                         part.changes[k].gain_us, places, places == 1 ? "" : "s")});
    }
  };
  add(result, "");
  for (const jobs::ExplainedBody& body : result.bodies)
    add(body.explanation, " in the " + body.where);
  return all;
}

}  // namespace

std::string explanation_dot(const jobs::ExplainedResult& result) {
  std::string text = "digraph explanation {\n"
                     "  graph [style=rounded, color=gray, fontname=Helvetica];\n"
                     "  node [shape=box, style=rounded, fontname=Helvetica, fontsize=11];\n"
                     "  edge [fontname=Helvetica, fontsize=9];\n";
  const std::vector<DrawnChange> all = all_changes(result);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const jobs::ExplainedChange& change = *all[k].change;
    text += fmt::format("  subgraph cluster_c{} {{\n    label=\"{}{}\";\n", k,
                        dot_escaped(all[k].title), rules_label(change));
    text += side_text(change, change.after, fmt::format("a{}", k), "now");
    text += side_text(change, change.before, fmt::format("b{}", k), "before");
    text += "  }\n";
    if (k < kInARow) continue;
    // Below the change that is a row above.
    const std::size_t above = k - kInARow;
    const std::size_t last = all[above].change->before.size() - 1;
    text += fmt::format("  b{}_{} -> b{}_0 [style=invis, minlen=3];\n", above, last, k);
  }
  return text + "}\n";
}

}  // namespace soapstone::cli
