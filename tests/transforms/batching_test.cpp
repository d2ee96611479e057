// Rules that are made for a graph: which parts of it are towers, and that each rule made of them
// holds, rounds no worse than it says, and can be proved.
#include "transforms/pack/towers.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/batching_graphs.h"
#include "tests/transforms/holds.h"

namespace soapstone::transforms {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// What the steps of each pack lift: "matmul", …
std::vector<std::vector<std::string>> packs_of(std::string_view text) {
  std::vector<std::vector<std::string>> packs;
  for (const RewriteSequence& towers : find_towers(graph_of(text))) {
    auto& pack = packs.emplace_back();
    for (const RewriteStep& step : towers.steps) {
      std::string name = rule_name(step.texts[0]);
      name.resize(name.find('['));
      pack.push_back(name.substr(std::string_view("batch_of_").size()));
    }
  }
  return packs;
}

/// Heads of a product each, joined along the last axis.
std::string heads(int count) {
  return branches(count, "  x#: f32[2, 3]\n  w#: f32[3, 4]\n",
                  "  p# = matmul(x#, w#)\n  y# = relu(p#)\n",
                  count == 2 ? "  y = concat(y1, y2; axis=1)\n  return y\n"
                             : "  y = concat(y1, y2, y3, y4, y5; axis=1)\n  return y\n");
}

TEST(Towers, OfHeadsEndInTheirJoin) {
  for (const int count : {2, 5}) {
    EXPECT_THAT(packs_of(heads(count)), ElementsAre(ElementsAre("matmul", "relu", "concat")));
    const auto found = find_towers(graph_of(heads(count)));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].steps[0].results, SizeIs(count));
    EXPECT_FALSE(found[0].steps[1].ends);
    EXPECT_TRUE(found[0].steps[2].ends);
    EXPECT_THAT(found[0].steps[2].results, SizeIs(1));
  }
}

TEST(Towers, OfTermsEndInTheirSum) {
  const std::string inputs = "  x#: f32[2, 3]\n  w#: f32[3, 4]\n",
                    nodes = "  p# = matmul(x#, w#)\n";
  EXPECT_THAT(packs_of(branches(2, inputs, nodes, "  y = add(p1, p2)\n  return y\n")),
              ElementsAre(ElementsAre("matmul", "add")));
  const std::string five = branches(
      5, inputs, nodes,
      "  a = add(p1, p2)\n  b = add(a, p3)\n  c = add(b, p4)\n  y = add(c, p5)\n  return y\n");
  const auto found = find_towers(graph_of(five));
  ASSERT_THAT(packs_of(five), ElementsAre(ElementsAre("matmul", "add")));
  EXPECT_THAT(found[0].steps[0].results, SizeIs(5));
  EXPECT_EQ(found[0].steps[0].floats, FloatBehavior::kExact);
  EXPECT_EQ(found[0].steps[1].floats, FloatBehavior::kReassociates);
}

TEST(Towers, OfProductsEndInAContraction) {
  const std::string nodes = "  p# = mul(x#, w#)\n", end = "  y = add(p1, p2)\n  return y\n";
  for (const std::string_view inputs :
       {"  x#: f32[2, 3]\n  w#: f32[2, 3]\n", "  x#: f32[4, 2, 3]\n  w#: f32[2, 1]\n"}) {
    const std::string text = branches(2, inputs, nodes, end);
    EXPECT_THAT(packs_of(text), ElementsAre(ElementsAre("mul", "add", "products")));
    expect_rules_hold(made_rules(find_towers(graph_of(text))), 5);
  }
}

TEST(Towers, AreSummedBesideOthers) {
  const std::string text = []() {
    std::string graph = branches(3, "  x#: f32[4, 2, 3]\n  w#: f32[2, 1]\n", "  p# = mul(x#, w#)\n",
                                 "  a = add(z, p1)\n  b = add(a, p2)\n  c = add(b, k)\n"
                                 "  y = add(c, p3)\n  return y\n");
    return graph.insert(graph.find('\n') + 1, "  z: f32[4, 2, 3]\n  k: f32[4, 2, 3]\n");
  }();
  EXPECT_THAT(packs_of(text), ElementsAre(ElementsAre("mul", "add", "products")));
  const auto found = find_towers(graph_of(text));
  EXPECT_THAT(found[0].steps[0].results, SizeIs(3));
  EXPECT_EQ(found[0].steps[2].operand, 1U);
  expect_rules_hold(made_rules(found), 5);
}

TEST(Towers, MayEndApart) {
  EXPECT_THAT(packs_of(branches(2, "  x#: f32[2, 3]\n", "  a# = exp(x#)\n  y# = relu(a#)\n",
                                "  return y1, y2\n")),
              ElementsAre(ElementsAre("exp", "relu")));
}

TEST(Towers, BeginWithPiecesOfOneTensor) {
  const std::string_view inputs = "  w#: f32[3, 4]\n", nodes = "  y# = matmul(x#, w#)\n",
                         end = "  y = concat(y1, y2; axis=1)\n  return y\n";
  const std::string graph = branches(2, inputs, nodes, end);
  const auto with = [&](std::string_view pieces) {
    std::string text = graph;
    text.insert(text.find('\n') + 1, "  x: f32[2, 8]\n");
    return text.insert(text.find("  y1 ="), pieces);
  };
  const std::string slices = "  x1 = slice(x; axes=[1], starts=[1], sizes=[3], steps=[1])\n"
                             "  x2 = slice(x; axes=[1], starts=[4], sizes=[3], steps=[1])\n";
  EXPECT_THAT(packs_of(with(slices)), ElementsAre(ElementsAre("pieces", "matmul", "concat")));
  // Pieces that overlap are no batch of one tensor, but stacked.
  std::string overlap = slices;
  overlap.replace(overlap.find("starts=[4]"), 10, "starts=[3]");
  EXPECT_THAT(packs_of(with(overlap))[0], Contains("matmul"));
  EXPECT_THAT(packs_of(with(overlap))[0], Not(Contains("pieces")));
}

TEST(Towers, AreNoStepsOfARecurrence) {
  EXPECT_THAT(packs_of(R"(graph recurrence
  x: f32[2, 3]
  w: f32[3, 3]
  a = matmul(x, w)
  b = matmul(a, w)
  y = concat(a, b; axis=1)
  return y
)"),
              IsEmpty());
}

TEST(Towers, AreJoinedBesideOthers) {
  const std::string inputs = "  x#: f32[2, 3]\n", nodes = "  y# = exp(x#)\n";
  std::string text =
      branches(3, inputs, nodes, "  y = concat(z, y1, y2, y3; axis=0)\n  return y\n");
  text.insert(text.find('\n') + 1, "  z: f32[2, 3]\n");
  // The join becomes one of the other tensor and of their join, which is then taken from the batch.
  EXPECT_THAT(packs_of(text), ElementsAre(ElementsAre("exp", "concat", "concat")));
  const auto found = find_towers(graph_of(text));
  EXPECT_EQ(found[0].steps[2].operand, 1u);
}

TEST(Towers, MayTakeTurns) {
  const std::string text = branches(3, "  x#: f32[2, 3]\n", "  a# = exp(x#)\n  b# = tanh(x#)\n",
                                    "  y = concat(a1, b1, a2, b2, a3, b3; axis=1)\n  return y\n");
  EXPECT_THAT(packs_of(text), ElementsAre(ElementsAre("exp", "tanh", "concat")));
}

TEST(Towers, NeedOperandsOfTheirOwn) {
  EXPECT_THAT(packs_of(R"(graph alike
  x: f32[2, 3]
  a = exp(x)
  b = exp(x)
  y = concat(a, b; axis=0)
  return y
)"),
              IsEmpty());
}

/// Branches of the same lines, two or three of them, joined or not.
class BatchingRules : public testing::TestWithParam<Lines> {
 protected:
  std::vector<Rule> rules() const {
    std::vector<Rule> all;
    for (const int count : {2, 3})
      for (const bool joined : {false, true}) {
        const Graph graph = graph_of(lifted_graph(GetParam(), count, joined));
        std::ranges::move(made_rules(find_towers(graph)), std::back_inserter(all));
      }
    return all;
  }
};

TEST_P(BatchingRules, HoldAndRoundAsTheySay) { expect_rules_hold(rules(), 10); }

/// Otherwise graphs from which no rule is made would pass what is asked of each rule.
TEST(BatchingRulesOfAll, CoverTheOperators) {
  std::set<std::string> lifted;
  for (const Lines& lines : kLiftedLines)
    for (const Rule& rule : made_rules(find_towers(graph_of(lifted_graph(lines, 2, true)))))
      lifted.insert(rule.base_name.substr(kBatchingPrefix.size()));
  EXPECT_THAT(lifted,
              testing::IsSupersetOf(
                  {"add",        "relu",       "mul",        "clip",       "less",    "where",
                   "matmul",     "softmax",    "transpose",  "neg",        "reshape", "slice",
                   "concat",     "expand",     "layer_norm", "cast",       "gather",  "cumsum",
                   "reduce_sum", "reduce_max", "rms_norm",   "reduce_mean"}));
  for (const char* none : {"batch_norm", "max_pool", "global_average_pool", "pad"})
    EXPECT_FALSE(lifted.contains(none)) << none;
}

INSTANTIATE_TEST_SUITE_P(All, BatchingRules, testing::ValuesIn(kLiftedLines),
                         [](const auto& lines) { return std::string(lines.param.name); });

}  // namespace
}  // namespace soapstone::transforms
