// Sources of many rules as one tree, and what matching finds with it.
#include "rules/saturation/match_tree.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "rules/saturation/saturate.h"
#include "tests/rules/example_graphs.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

std::vector<ENodeId> live_nodes(const EGraph& graph) {
  std::vector<ENodeId> nodes;
  for (std::size_t k = 0; k < graph.node_bound(); ++k)
    if (graph.is_live(ENodeId(k))) nodes.emplace_back(k);
  return nodes;
}

/// What is found of each rule, as text; each match once.
struct Found {
  std::vector<std::set<std::string>> by_rule;
  bool complete = false;
};

Found found(const EGraph& graph, const SaturationRules& rules, const EMatchLimits& limits = {}) {
  Found result{std::vector<std::set<std::string>>(rules.size())};
  result.complete =
      for_each_match(graph, rules, live_nodes(graph), limits, [&](const EMatch& match) {
        std::string text;
        for (const ENodeId node : match.nodes) text += " n" + std::to_string(node.index());
        for (const ClassId input : match.inputs) text += " c" + std::to_string(input.index());
        for (const std::int64_t size : match.sizes) text += " " + std::to_string(size);
        result.by_rule[match.rule].insert(std::move(text));
        return true;
      });
  return result;
}

constexpr std::string_view kAlike = R"(rule associate
  x: [n, m]   y: [n, m]   z: [n, m]
  source
    t = add(x, y)
    r = add(t, z)
  target
    u = add(y, z)
    r = add(x, u)

rule relu_of_sums
  p: [n, m]   q: [n, m]   o: [n, m]
  source
    a = add(p, q)
    b = add(a, o)
    c = relu(b)
  target
    d = add(q, p)
    e = add(d, o)
    c = relu(e)

rule exp_of_sum
  p: [n, m]   q: [m]
  source
    a = add(p, q)
    b = exp(a)
  target
    c = add(q, p)
    b = exp(c)
)";

TEST(MatchTree, SourcesThatBeginAlikeShareNodes) {
  const std::vector<Rule> rules = rules_of(kAlike);
  const auto tree_of = [&](std::size_t from, std::size_t count) {
    return SaturationRules(std::span(rules).subspan(from, count)).tree();
  };
  EXPECT_EQ(tree_of(0, 1).size(), 4U);  // from each of both sums to the other one
  EXPECT_EQ(tree_of(1, 1).size(), 3U * 3U);
  EXPECT_EQ(tree_of(2, 1).size(), 2U * 2U);  // other shapes: nothing in common
  // From either sum to the other one is the beginning of both.
  EXPECT_EQ(tree_of(0, 3).size(), 9U + 4U);
  EXPECT_EQ(tree_of(0, 3).leaf_count(), 2U + 3U + 2U);
}

class MatchTreeExample : public testing::TestWithParam<std::string_view> {};

TEST_P(MatchTreeExample, AllRulesFindWhatEachFindsAlone) {
  auto file = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  std::erase_if(file->rules, [](const Rule& rule) { return rule.is_placed; });
  const SaturationRules all(file->rules);
  const Graph g = graph_of(GetParam());
  EGraph graph;
  std::vector<ClassId> inputs;
  for (const core::TensorId id : g.inputs())
    inputs.push_back(graph.add_input(static_cast<std::uint32_t>(inputs.size()), g.tensor(id).type));
  graph.add_graph(g, inputs);
  SaturationLimits limits;
  limits.nodes = 80;
  saturate(graph, all, limits, nullptr, core::StopToken());

  const Found together = found(graph, all);
  std::size_t compared = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Found alone = found(graph, SaturationRules(std::span(&all[k].rule, 1)));
    if (!alone.complete) continue;
    EXPECT_EQ(together.by_rule[k], alone.by_rule[0]) << all[k].rule.name;
    if (!alone.by_rule[0].empty()) ++compared;
  }
  EXPECT_GE(compared, 12U);
}

INSTANTIATE_TEST_SUITE_P(All, MatchTreeExample, testing::ValuesIn(kExampleGraphs),
                         [](const auto& example) { return graph_of(example.param).name(); });

}  // namespace
}  // namespace soapstone::rules
