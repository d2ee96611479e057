#include "rules/rule/plan.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/hash.h"

namespace soapstone::rules {

std::vector<std::size_t> depths_of(const core::Graph& graph) {
  std::vector<std::size_t> depths(graph.node_bound());
  for (const core::NodeId id : graph.order()) {
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid() || !graph.tensor(input).producer.valid() ||
          graph.is_constant_expression(input))
        continue;
      depths[id.index()] =
          std::max(depths[id.index()], depths[graph.tensor(input).producer.index()] + 1);
    }
  }
  return depths;
}

OperatorNames operators_of_plans() {
  return {"add", "concat", "einsum",     "expand",  "eye",   "full",  "gather", "matmul",   "mul",
          "neg", "pad",    "reduce_sum", "reshape", "slice", "split", "sub",    "transpose"};
}

std::string rule_name(std::string_view text) {
  const std::size_t begin = std::string_view("rule ").size();
  return fmt::format("{}[{:016x}]", text.substr(begin, text.find('\n') - begin),
                     core::hash_text(text));
}

std::optional<Rule> made_rule(const PlanStep& step, const std::string& text) {
  auto parsed = parse_rules(text);
  if (!parsed || parsed->rules.size() != 1) return std::nullopt;
  Rule& rule = parsed->rules.front();
  // Who replays its proof looks for sizes to try it at.
  if (rule.source.symbols().size() > 0 && !check(rule, 1, 1).ok()) return std::nullopt;
  rule.name = rule_name(text);
  rule.description = step.description;
  rule.floats = step.floats;
  rule.evidence = {Evidence::Kind::kProved, "when it is first used"};
  rule.is_proved_on_demand = true;
  return std::move(rule);
}

}  // namespace soapstone::rules
