// The rules of plans, all at once: the search makes one when it meets it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rules/rule/plan.h"

namespace soapstone::rules {

/// The rules of all steps, each once.
inline std::vector<Rule> made_rules(std::span<const RewritePlan> plans) {
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

/// Steps whose texts all have types that do not fit: they are never taken.
inline std::size_t steps_without_rules(std::span<const RewritePlan> plans) {
  std::size_t count = 0;
  for (const RewritePlan& plan : plans)
    for (const PlanStep& step : plan.steps) {
      const RewritePlan one{{step}};
      count += made_rules({&one, 1}).empty();
    }
  return count;
}

}  // namespace soapstone::rules
