#include "rules/rule/plan.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash.h"

namespace soapstone::rules {

OperatorNames operators_of_plans() {
  return {"add", "concat",     "einsum",  "eye",   "full",  "matmul",
          "pad", "reduce_sum", "reshape", "slice", "split", "transpose"};
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

std::vector<Rule> made_rules(std::span<const RewritePlan> plans) {
  std::vector<Rule> rules;
  std::set<std::string> names;
  for (const RewritePlan& plan : plans)
    for (const PlanStep& step : plan.steps)
      for (const std::string& text : step.texts) {
        if (!names.insert(rule_name(text)).second) continue;
        if (auto rule = made_rule(step, text)) rules.push_back(*std::move(rule));
      }
  return rules;
}

}  // namespace soapstone::rules
