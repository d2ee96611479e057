// Whether a rule is proved, and nothing else.
#pragma once

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/made_rules.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {

inline bool proves(const rules::Rule& rule) {
  const auto solver = make_z3_solver();
  return attempt_proof(rule, *solver, {}).empty();
}

/// Of each step of the plans one rule is proved.
inline void expect_steps_proved(const std::vector<transforms::RewriteSequence>& plans) {
  for (const transforms::RewriteSequence& plan : plans)
    for (const transforms::RewriteStep& step : plan.steps) {
      const transforms::RewriteSequence one{{step}};
      const std::vector<rules::Rule> rules = transforms::made_rules({&one, 1});
      if (rules.empty()) continue;  // its types do not fit, so it is never taken
      EXPECT_TRUE(std::ranges::any_of(rules, proves)) << step.texts.back();
    }
}

}  // namespace soapstone::verifier
