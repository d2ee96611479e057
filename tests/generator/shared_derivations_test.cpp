// Several equalities in one e-graph that takes in rules.
#include "generator/selection/shared_derivations.h"

#include <gtest/gtest.h>

#include "generator/sides/rule_instances.h"
#include "tests/support/rules.h"

namespace soapstone::generator {
namespace {

constexpr std::string_view kTwiceIsOnce = R"(rule relu_twice
  x: [n, m]
  source
    t = relu(x)
    y = relu(t)
  target
    y = relu(x)
)";
constexpr std::string_view kThriceIsOnce = R"(rule relu_thrice
  x: [n, m]
  source
    t = relu(x)
    u = relu(t)
    y = relu(u)
  target
    y = relu(x)
)";
constexpr std::string_view kNegTwiceIsRelu = R"(rule neg_twice
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = relu(x)
)";

/// The sides of the rule at this many sizes.
std::vector<Sides> examples_of_rule(std::string_view rule, std::size_t count = 1) {
  std::vector<Sides> result;
  for (std::uint64_t seed = 1; result.size() < count; ++seed)
    for (Sides& sides : rule_instances(rules_of(rule)[0], 1, seed))
      result.push_back(std::move(sides));
  return result;
}

TEST(SharedDerivations, SayOfEachWhetherItFollows) {
  SharedDerivations shared({200});
  const std::size_t thrice = shared.add(examples_of_rule(kThriceIsOnce)),
                    neg = shared.add(examples_of_rule(kNegTwiceIsRelu));
  shared.saturate(rules::SaturationRules(rules_of(kTwiceIsOnce)), core::StopToken());
  EXPECT_TRUE(shared.follows(thrice));
  EXPECT_FALSE(shared.follows(neg));
}

TEST(SharedDerivations, TakeInRulesThatAreAdded) {
  SharedDerivations shared({200});
  const std::size_t thrice = shared.add(examples_of_rule(kThriceIsOnce, 3)),
                    neg = shared.add(examples_of_rule(kNegTwiceIsRelu));
  rules::SaturationRules rules;
  shared.saturate(rules, core::StopToken());
  EXPECT_FALSE(shared.follows(thrice));
  for (const rules::Rule& rule : rules_of(kNegTwiceIsRelu)) ASSERT_TRUE(rules.add(rule).ok());
  shared.saturate(rules, core::StopToken());
  EXPECT_FALSE(shared.follows(thrice));
  EXPECT_TRUE(shared.follows(neg));
  for (const rules::Rule& rule : rules_of(kTwiceIsOnce)) ASSERT_TRUE(rules.add(rule).ok());
  shared.saturate(rules, core::StopToken());
  EXPECT_TRUE(shared.follows(thrice));
}

TEST(SharedDerivations, AllExamplesMustFollow) {
  std::vector<Sides> mixed = examples_of_rule(kThriceIsOnce);
  mixed.push_back(examples_of_rule(kNegTwiceIsRelu)[0]);
  SharedDerivations shared({200});
  const std::size_t number = shared.add(std::move(mixed));
  shared.saturate(rules::SaturationRules(rules_of(kTwiceIsOnce)), core::StopToken());
  EXPECT_FALSE(shared.follows(number));
}

TEST(SharedDerivations, NothingFollowsWithoutExamples) {
  SharedDerivations shared({200});
  const std::size_t number = shared.add({});
  shared.saturate(rules::SaturationRules(rules_of(kTwiceIsOnce)), core::StopToken());
  EXPECT_FALSE(shared.follows(number));
}

}  // namespace
}  // namespace soapstone::generator
