// The list of all transforms.
#include "transforms/registry/registry.h"

#include <algorithm>
#include <set>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/planned_graphs.h"

namespace soapstone::transforms {
namespace {

TEST(Transforms, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Transform* const transform : transforms()) {
    EXPECT_TRUE(names.insert(transform->name).second) << transform->name;
    EXPECT_FALSE(transform->summary.empty()) << transform->name;
    EXPECT_FALSE(transform->prefixes.front().empty()) << transform->name;
    EXPECT_EQ(find_transform(transform->name), transform);
  }
  EXPECT_EQ(find_transform("of_no_such_name"), nullptr);
}

/// Whoever names a rule that is made for a graph is understood before there is one.
TEST(Transforms, MakeRulesWhoseNamesBeginAsTheySay) {
  std::set<std::string_view> made;
  for (const PlannedGraph& planned : kPlannedGraphs) {
    const core::Graph graph = graph_of(planned_graph(planned));
    for (const Transform* const transform : transforms())
      for (const rules::Rule& rule : made_rules(transform->find(graph))) {
        EXPECT_TRUE(transform->may_make(rule.base_name))
            << transform->name << " makes " << rule.base_name;
        made.insert(transform->name);
      }
  }
  EXPECT_GT(made.size(), 12U);
}

}  // namespace
}  // namespace soapstone::transforms
