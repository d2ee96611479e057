// Parts that are linear in one tensor: which they are, and that each rule made of them holds and
// rounds no worse than it says.
#include "transforms/affine/linear_maps.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/linear_graphs.h"
#include "transforms/affine/linearity.h"

namespace soapstone::transforms {
namespace {

using testing::Eq;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

/// The node that computes the first result.
const core::Node& last_node(const Graph& graph) {
  return graph.node(graph.tensor(graph.outputs()[0]).producer);
}

Graph one_node(std::string_view inputs, std::string_view call) {
  return graph_of(fmt::format("graph one\n{}  y = {}\n  return y\n", inputs, call));
}

bool is_linear(std::string_view inputs, std::string_view call, const std::vector<bool>& operands) {
  const Graph graph = one_node(inputs, call);
  return linearity_in(graph, last_node(graph), operands).has_value();
}

TEST(Linearity, IsOfDegreeOneInTheOperands) {
  const char* two = "  a: f32[3]\n  b: f32[3]\n";
  EXPECT_TRUE(is_linear(two, "add(a, b)", {true, true}));
  EXPECT_TRUE(is_linear(two, "sub(a, b)", {false, true}));
  EXPECT_TRUE(is_linear(two, "mul(a, b)", {true, false}));
  EXPECT_FALSE(is_linear(two, "mul(a, b)", {true, true}));
  EXPECT_TRUE(is_linear(two, "div(a, b)", {true, false}));
  EXPECT_FALSE(is_linear(two, "div(a, b)", {false, true}));
  EXPECT_FALSE(is_linear(two, "max(a, b)", {true, false}));
  EXPECT_FALSE(is_linear("  a: f32[3]\n", "relu(a)", {true}));
  EXPECT_FALSE(is_linear("  a: f32[3, 4]\n", "softmax(a; axis=1)", {true}));
}

TEST(Linearity, SaysWhatIsOnlyAdded) {
  const Graph graph = one_node("  x: f32[2, 3, 8]\n  k: f32[4, 3, 3]\n  b: f32[4]\n",
                               "conv(x, k, b; strides=[1], dilations=[1], pads=[1, 1])");
  const auto found = linearity_in(graph, last_node(graph), {true, false, false});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->is_added, (std::vector<bool>{false, false, true}));
}

TEST(KeptAxis, IsWhereEachPlaceStandsAlone) {
  const auto kept = [](std::string_view input, std::string_view call, std::size_t axis) {
    const Graph graph = one_node(input, call);
    std::vector<std::optional<std::size_t>> axes(last_node(graph).inputs.size());
    axes[0] = axis;
    const auto found = kept_axis(graph, last_node(graph), axes);
    return found ? std::optional(found->at(0)) : std::nullopt;
  };
  const char* image = "  x: f32[2, 3, 8]\n  k: f32[4, 3, 3]\n";
  const char* conv = "conv(x, k; strides=[1], dilations=[1], pads=[1, 1])";
  EXPECT_THAT(kept(image, conv, 0), Optional(Eq(0U)));
  EXPECT_EQ(kept(image, conv, 1), std::nullopt);
  EXPECT_EQ(kept(image, conv, 2), std::nullopt) << "as long as before, but not place by place";
  EXPECT_THAT(kept("  x: f32[2, 3, 8]\n  k: f32[4, 3, 1]\n",
                   "conv(x, k; strides=[1], dilations=[1], pads=[0, 0])", 2),
              Optional(Eq(2U)));
  EXPECT_EQ(kept("  x: f32[2, 3, 8]\n  k: f32[4, 3, 1]\n",
                 "conv(x, k; strides=[1], dilations=[1], pads=[1, 1])", 2),
            std::nullopt);
  const char* cube = "  x: f32[2, 3, 1, 4]\n";
  EXPECT_THAT(kept(cube, "transpose(x; perm=[3, 0, 1, 2])", 0), Optional(Eq(1U)));
  EXPECT_THAT(kept(cube, "reduce_sum(x; axes=[1], keep_dims=0)", 3), Optional(Eq(2U)));
  EXPECT_EQ(kept(cube, "reduce_sum(x; axes=[1], keep_dims=1)", 1), std::nullopt);
  EXPECT_THAT(kept(cube, "reshape(x; shape=[6, 1, 4])", 3), Optional(Eq(2U)));
  EXPECT_EQ(kept(cube, "reshape(x; shape=[6, 4])", 0), std::nullopt);
  EXPECT_EQ(kept(cube, "slice(x; axes=[1], starts=[0], sizes=[3], steps=[1])", 1), std::nullopt);
  EXPECT_EQ(kept("  x: f32[2, 3]\n  b: f32[3]\n", "add(x, b)", 1), std::nullopt)
      << "each place has a number of its own";
}

TEST(LinearMaps, NeedTwoOperatorsThatCompute) {
  EXPECT_THAT(find_linear_maps(graph_of("graph g\n  x: f32[2, 3]\n  w: f32[3, 3]\n"
                                        "  a = matmul(x, w)\n  y = tanh(a)\n  return y\n")),
              IsEmpty());
}

TEST(LinearMaps, AreNotLargerThanTheyMayBe) {
  const char* wide = R"(graph wide
  x: f32[2, 2048]
  a = cumsum(x; axis=1)
  b = neg(a)
  y = tanh(b)
  return y
)";
  EXPECT_THAT(find_linear_maps(graph_of(wide)), IsEmpty());
}

TEST(LinearMaps, MayHaveOffsetsOfOthers) {
  const Graph graph = graph_of(kRecurrence);
  EXPECT_THAT(find_affine_maps(graph), IsEmpty());
  const std::vector<RewriteSequence> joint = find_joint_maps(graph);
  EXPECT_THAT(joint, Not(IsEmpty()));
  expect_rules_hold(made_rules(joint), 5);
}

class LinearMapRules : public testing::TestWithParam<LinearPart> {
 protected:
  std::vector<Rule> rules() const {
    return made_rules(find_affine_maps(graph_of(linear_graph(GetParam()))));
  }
};

TEST_P(LinearMapRules, HoldAndRoundAsTheySay) { expect_rules_hold(rules(), 5); }

/// Otherwise parts of which no rule is made would pass what is asked of each rule.
TEST_P(LinearMapRules, TakeEachOperator) {
  std::set<std::string> taken;
  for (const Rule& rule : rules()) taken.insert(rule.base_name.substr(kLinearMapPrefix.size()));
  std::istringstream wanted{std::string(GetParam().operators)};
  for (std::string name; wanted >> name;) EXPECT_TRUE(taken.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(All, LinearMapRules, testing::ValuesIn(kLinearParts),
                         [](const auto& part) { return std::string(part.param.name); });

/// A product with zeros would make NaN of minus infinity.
TEST(LinearMaps, LeaveMasksOfScores) {
  for (const char* mask : {"mask", "chosen"}) {
    const auto plans = find_linear_maps(graph_of(fmt::format(R"(graph g
  s: f32[4, 3]
  mask: f32[4, 5]
  k: bool[4, 5]
  z: f32[4, 3]
  w = full(; shape=[3, 5], value=0.5)
  low = full(; shape=[], value=-1000000.0)
  scores = matmul(z, w)
  chosen = where(k, scores, low)
  m = slice({}; axes=[1], starts=[0], sizes=[3], steps=[1])
  n = neg(m)
  t = sub(s, n)
  y = softmax(t; axis=1)
  return y
)",
                                                             mask)));
    for (const RewriteSequence& plan : plans)
      EXPECT_EQ(plan.steps[0].texts[0].find("slice"), std::string::npos) << plan.steps[0].texts[0];
  }
}

}  // namespace
}  // namespace soapstone::transforms
