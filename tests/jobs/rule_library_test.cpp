// Which rules a job loads, and how many instances of them a model makes it read.
#include "jobs/rules/rule_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "rules/rule/families.h"
#include "tests/support/graphs.h"
#include "tests/support/temporary_folder.h"
#include "transforms/receptive/mirrors.h"
#include "transforms/registry/registry.h"

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

constexpr std::string_view kMine = R"(rule mine
  x: [n]
  source
    a = neg(x)
    y = neg(a)
  target
    y = x
)";

std::vector<std::string> names_in(const RuleRequest& request) {
  auto loaded = load_rules(request, Context{});
  if (!loaded.ok()) ADD_FAILURE() << loaded.error().to_string();
  std::vector<std::string> names;
  for (const auto& rule : loaded->search) names.push_back(rule.base_name);
  for (const auto& rule : loaded->written_search) names.push_back(rule.name);
  return names;
}

TEST(RuleLibrary, RulesOfOnesOwnAreAddedUnlessTheyReplace) {
  const TemporaryFolder folder;
  const std::string mine = (folder / "mine.rules").string();
  std::ofstream(mine) << kMine;
  const auto shipped = names_in({});
  EXPECT_GT(shipped.size(), 100U);
  RuleRequest request;
  request.files = {mine};
  auto with_mine = shipped;
  with_mine.emplace_back("mine");
  EXPECT_THAT(names_in(request), ::testing::UnorderedElementsAreArray(with_mine));
  EXPECT_TRUE(admits_made(request));
  EXPECT_EQ(to_string(request), "the shipped rules, " + mine);
  request = {};
  request.only_files = {mine};
  EXPECT_THAT(names_in(request), ::testing::ElementsAre("mine"));
  EXPECT_FALSE(admits_made(request));
  EXPECT_EQ(to_string(request), mine + ", without the shipped ones");
}

TEST(RuleLibrary, AFileIsReadOnceHoweverItIsNamed) {
  const TemporaryFolder folder;
  const std::string copy = (folder / "copy.rules").string();
  const std::filesystem::path shipped = rules_folder() / "strided.rules";
  std::filesystem::copy(shipped, copy);
  RuleRequest request;
  request.files = {shipped.string(), copy};
  EXPECT_EQ(names_in(request).size(), names_in({}).size());
}

TEST(Transforms, AreLeftOutByName) {
  const auto all = transforms::transforms();
  EXPECT_EQ(tried_transforms(RuleRequest()).size(), all.size());
  for (const transforms::Transform* const transform : all) {
    RuleRequest request;
    request.skip = {std::string(transform->name)};
    const auto tried = tried_transforms(request);
    EXPECT_EQ(tried.size(), all.size() - 1) << transform->name;
    EXPECT_EQ(std::ranges::count(tried, transform), 0) << transform->name;
    EXPECT_THAT(tried_transforms(only(request.skip.front())), testing::ElementsAre(transform));
  }
}

/// Whoever names a rule that a transform makes means the transform's work, too.
TEST(Transforms, AreTriedForTheSakeOfTheirRules) {
  const RuleRequest request = only("mirror_of_conv");
  EXPECT_THAT(tried_transforms(request), testing::ElementsAre(&transforms::kMirrors));
  rules::Rule mirror, other;
  mirror.name = mirror.base_name = "mirror_of_conv";
  other.name = other.base_name = "mirror_of_relu";
  EXPECT_TRUE(admits_made(request)(mirror));
  EXPECT_FALSE(admits_made(request)(other));
  EXPECT_TRUE(admits_made(only("mirrors"))(other));
}

}  // namespace
}  // namespace soapstone::jobs
