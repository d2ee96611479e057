// The shipped rules on whole graphs: long random sequences of rewrites keep the function, and
// matching around a rewrite finds what matching everywhere finds there.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/rules/example_graphs.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

/// All but laws of functions, which do not hold in the field.
const RuleSet& shipped_rules() {
  static const RuleSet kRules = [] {
    auto file = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    CHECK(file.ok(), file.error().to_string());
    std::erase_if(file->rules, is_law_of_functions);
    return RuleSet(std::move(file->rules));
  }();
  return kRules;
}

class RewriteWalk : public testing::TestWithParam<std::string_view> {};

TEST_P(RewriteWalk, KeepsTheFunction) {
  constexpr int kSteps = 40;
  constexpr std::size_t kMostNodes = 60;
  const RuleSet& rules = shipped_rules();
  const Graph original = graph_of(GetParam());
  const auto expected = field_outputs(original, 3);
  Random random(17);
  Graph graph = original;
  std::set<std::string> used;
  for (int step = 0; step < kSteps; ++step) {
    const auto found = all_matches(rules, graph);
    if (found.empty()) {  // No rule looks into operators that a runtime adds to ONNX's.
      ASSERT_GT(step, 0);
      graph = original;
      continue;
    }
    const auto& [id, match] = found[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(found.size()) - 1))];
    auto next = apply(graph, rules[id], match);
    if (closes_cycle(graph, rules[id], match)) {
      EXPECT_FALSE(next.ok());
    }
    if (!next) continue;
    ASSERT_EQ(field_outputs(*next, 3), expected) << print(rules[id]) << core::print(graph);
    used.insert(rules[id].base_name);
    if (next->order().size() <= kMostNodes) graph = *std::move(next);
  }
  EXPECT_GE(used.size(), 5u);
}

TEST_P(RewriteWalk, FindsTheSameMatchesAroundARewrite) {
  const RuleSet& rules = shipped_rules();
  const Graph graph = graph_of(GetParam());
  const auto found = all_matches(rules, graph);
  using Key = std::pair<core::RuleId, std::vector<NodeId>>;
  std::multiset<Key> before;
  for (const FoundMatch& m : found) before.emplace(m.rule, m.match.nodes);
  for (std::size_t k = 0; k < std::min<std::size_t>(found.size(), 20); ++k) {
    auto next = apply(graph, rules[found[k].rule], found[k].match);
    if (!next) continue;
    std::vector<NodeId> changed;
    for (NodeId id : next->order())
      if (!graph.contains(id) || &graph.node(id) != &next->node(id)) changed.push_back(id);
    std::multiset<Key> around, everywhere;
    rules.for_each_match_at(*next, changed, [&](core::RuleId rule, const Match& match) {
      around.emplace(rule, match.nodes);
      return true;
    });
    for (const FoundMatch& m : all_matches(rules, *next)) {
      const Key key(m.rule, m.match.nodes);
      const bool touches = std::ranges::any_of(m.match.nodes, [&](NodeId id) {
        return std::ranges::find(changed, id) != changed.end();
      });
      if (touches)
        everywhere.insert(key);
      else
        EXPECT_TRUE(before.contains(key)) << "a match appeared where nothing changed";
    }
    EXPECT_EQ(around, everywhere);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RewriteWalk, testing::ValuesIn(kExampleGraphs), [](const auto& test) {
  const std::string_view name = test.param.substr(std::string_view("graph ").size());
  return std::string(name.substr(0, name.find('\n')));
});

}  // namespace
}  // namespace soapstone::rules
