// Which rules a job loads, and how many instances of them a model makes it read.
#include "jobs/rules/rule_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/rule/families.h"
#include "tests/support/graphs.h"

namespace soapstone::jobs {
namespace {

core::Graph small_network() {
  return graph_of(R"(graph g
  x: f32[1, 8, 14, 14]
  w: f32[8, 8, 3, 3]
  t = conv(x, w; strides=[1, 1], pads=[1, 1, 1, 1])
  u = relu(t)
  v = add(u, x)
  y = reshape(v; shape=[8, 196])
  return y)");
}

RuleRequest only(const std::string& name) {
  RuleRequest request;
  request.only = {name};
  return request;
}

std::vector<rules::Rule> loaded_for(const core::Graph& graph, const RuleRequest& request) {
  auto loaded = load_rules(request, Context{});
  if (!loaded.ok()) ADD_FAILURE() << loaded.error().to_string();
  const auto added = add_instances(instances_for(graph, *loaded), request, *loaded);
  if (!added) ADD_FAILURE() << added.error().to_string();
  return std::move(loaded->search);
}

TEST(RuleLibrary, ASmallModelNeedsFewInstances) {
  const auto all = loaded_for(small_network(), {});
  // Loading takes time for each: a bound that rises is a slower start of every optimization.
  EXPECT_LT(all.size(), 3850u);
  EXPECT_GT(all.size(), 1000u);
}

TEST(RuleLibrary, NamesOfInstancesAreLookedUp) {
  const auto rules = loaded_for(small_network(), only("remove_reshape[A=2]"));
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].name, "remove_reshape[A=2]");
  const auto unknown = load_rules(only("remove_reshape[A=77]"), Context{});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, core::ErrorCode::kUsage);
  RuleRequest skips;
  skips.skip = {"remove_reshapes"};
  EXPECT_FALSE(load_rules(skips, Context{}).ok());
}

TEST(RuleLibrary, AllInstancesAreThereOnDemand) {
  const RuleRequest request = only("remove_reshape");
  auto loaded = load_rules(request, Context{});
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(loaded->search.empty());
  ASSERT_TRUE(add_instances(all_instances(), request, *loaded));
  EXPECT_EQ(loaded->search.size(), 6u);
  EXPECT_TRUE(loaded->written_search.empty());
}

}  // namespace
}  // namespace soapstone::jobs
