// Whether rules that were made for a graph hold, by numbers.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/rule/rule.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

using namespace rules;

/// The operators of a sequence's steps, as the names of their rules say them: `matmul add`.
inline std::string steps_of(const RewriteSequence& sequence) {
  std::string steps;
  for (const RewriteStep& step : sequence.steps) {
    std::string name = rule_name(step.texts[0]);
    name.resize(name.find('['));
    steps += (steps.empty() ? "" : " ") + name.substr(name.find("_of_") + 4);
  }
  return steps;
}

/// At that many sizes; and they round no more than they say.
inline void expect_rules_hold(const std::vector<Rule>& rules, int sizes) {
  for (const Rule& rule : rules) {
    EXPECT_TRUE(rule.is_placed) << rule.name;
    EXPECT_TRUE(rule.is_proved_on_demand) << rule.name;
    const auto report = check(rule, sizes, 17);
    ASSERT_TRUE(report.ok()) << print(rule) << report.error().to_string();
    EXPECT_FALSE(report->counterexample)
        << print(rule) << (report->counterexample ? report->counterexample->text : "");
    EXPECT_LE(report->floats, rule.floats) << print(rule);
  }
}

}  // namespace soapstone::transforms
