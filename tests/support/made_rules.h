// The rules of plans, all at once: the search makes one when it meets it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// The rules of all steps, each once.
inline std::vector<Rule> made_rules(std::span<const RewriteSequence> plans) {
  std::vector<Rule> rules;
  std::set<std::string> names;
  for (const RewriteSequence& plan : plans)
    for (const RewriteStep& step : plan.steps)
      for (const std::string& text : step.texts) {
        if (!names.insert(rule_name(text)).second) continue;
        if (auto rule = made_rule(step, text)) rules.push_back(*std::move(rule));
      }
  return rules;
}

/// Steps whose texts all have types that do not fit: they are never taken.
inline std::size_t steps_without_rules(std::span<const RewriteSequence> plans) {
  std::size_t count = 0;
  for (const RewriteSequence& plan : plans)
    for (const RewriteStep& step : plan.steps) {
      const RewriteSequence one{{step}};
      count += made_rules({&one, 1}).empty();
    }
  return count;
}

}  // namespace soapstone::transforms
