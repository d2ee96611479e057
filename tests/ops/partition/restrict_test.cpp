// Parts of every operator, cut along every loop, put together to the whole in the prime field.
#include "ops/restriction/restrict.h"

#include <gtest/gtest.h>

#include "tests/ops/partition/parts_in_field.h"

namespace soapstone::ops {
namespace {

using test::FieldValues;
using test::one_node;
using test::OneNode;
using test::Outcome;

/// Inputs of the node, and its results. Integers select: −1 … 1 where that is admitted.
struct NodeRun {
  std::vector<FieldValues> inputs, results;
};

NodeRun run_of(const OneNode& one, std::int64_t lowest = 0, std::int64_t highest = 1) {
  std::mt19937_64 random(7);
  NodeRun run;
  std::vector<FieldValues> given;
  for (core::TensorId id : one.graph.inputs())
    given.push_back(test::field_values(one.graph.tensor(id).type, random, lowest, highest));
  auto results = evaluate_graph<Field::Value>(one.graph, given);
  EXPECT_TRUE(results.ok()) << (results ? "" : results.error().to_string());
  run.results = *std::move(results);
  for (core::TensorId id : one.graph.node(one.node).inputs)
    for (std::size_t k = 0; k < given.size(); ++k)
      if (one.graph.inputs()[k] == id) run.inputs.push_back(given[k]);
  return run;
}

void expect_parts_equal(const OneNode& one, const NodeRun& run, std::size_t loop,
                        const std::vector<Interval>& cut) {
  std::string message;
  EXPECT_EQ(test::compare_parts(one.graph, one.node, one.space, {{loop, cut}}, run.inputs,
                                run.results, message),
            Outcome::kEqual)
      << "loop " << loop << " in " << cut.size() << ": " << message;
}

class RestrictExample : public ::testing::TestWithParam<test::OpExample> {};

/// Cuts that no form of the operator computes from pieces of its inputs: the node is kept whole.
bool is_kept_whole(const std::string& op, const Loop& loop, const std::string& call) {
  // Kernel elements of a transposed convolution: parts would reach beyond the result.
  if (op == "conv_transpose") return loop.role == DimRole::kReduction;
  // Weights by class are found by the same labels as the classes.
  if (op == "nll_loss") return loop.selected_by && call.find("w;") != std::string::npos;
  // Corners are aligned at the size of the whole.
  return op == "resize" && call.find("align_corners") != std::string::npos;
}

TEST_P(RestrictExample, PartsPutTogetherAreTheWhole) {
  const auto one = one_node(GetParam());
  if (one.space.loops.empty()) return;
  const NodeRun run = run_of(one);
  for (std::size_t l = 0; l < one.space.loops.size(); ++l)
    for (const auto& cut : test::cuts_of(one.space.loops[l].size)) {
      std::string message;
      const Outcome outcome = test::compare_parts(one.graph, one.node, one.space, {{l, cut}},
                                                  run.inputs, run.results, message);
      if (!one.space.loops[l].between.empty())
        EXPECT_EQ(outcome, Outcome::kJoinsBetween);
      else if (outcome == Outcome::kRefused)
        EXPECT_TRUE(is_kept_whole(GetParam().op(), one.space.loops[l], GetParam().call))
            << "loop " << l << " in " << cut.size() << ": " << message;
      else
        EXPECT_EQ(outcome, Outcome::kEqual)
            << "loop " << l << " in " << cut.size() << ": " << message;
    }
}

TEST_P(RestrictExample, TwoLoopsCutAtOnce) {
  const auto one = one_node(GetParam());
  if (one.space.loops.empty()) return;
  const NodeRun run = run_of(one);
  const auto& loops = one.space.loops;
  for (std::size_t a = 0; a < loops.size(); ++a)
    for (std::size_t b = a + 1; b < loops.size(); ++b) {
      const std::vector<test::LoopCut> cuts{{a, test::cuts_of(loops[a].size)[0]},
                                            {b, test::cuts_of(loops[b].size).back()}};
      std::string message;
      const Outcome outcome = test::compare_parts(one.graph, one.node, one.space, cuts, run.inputs,
                                                  run.results, message);
      const bool is_whole = is_kept_whole(GetParam().op(), loops[a], GetParam().call) ||
                            is_kept_whole(GetParam().op(), loops[b], GetParam().call);
      if (outcome == Outcome::kRefused)
        EXPECT_TRUE(is_whole) << "loops " << a << " and " << b << ": " << message;
      else
        EXPECT_NE(outcome, Outcome::kUnequal) << "loops " << a << " and " << b << ": " << message;
    }
}

INSTANTIATE_TEST_SUITE_P(All, RestrictExample, ::testing::ValuesIn(test::op_examples()),
                         test::example_name);

// --- Mistakes that planners have been known to make
// -----------------------------------------------

TEST(Restrict, BiasUnderASplitSumIsAddedOnce) {
  const auto one = one_node("x: f32[2, 4, 3]  w: f32[5, 4, 1]  b: f32[5]",
                            "conv(x, w, b; strides=[1], dilations=[1], pads=[0, 0])");
  const NodeRun run = run_of(one);
  ASSERT_EQ(one.space.loops[3].role, DimRole::kReduction);
  expect_parts_equal(one, run, 3, {{0, 1}, {1, 4}});
  // With output channels cut, too: the piece of the bias that belongs to them.
  auto box = test::part_of(one.space, 3, {0, 2});
  box[1] = {2, 5};
  const auto first = restrict_to(one.graph, one.node, one.space, box);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_EQ(first->regions.inputs[2].hull(), (std::vector<Interval>{{2, 5}}));
}

TEST(Restrict, PartsOfAMeanAreSummands) {
  const auto one = one_node("x: f32[2, 7]", "reduce_mean(x; axes=[1])");
  expect_parts_equal(one, run_of(one), 1, {{0, 1}, {1, 3}, {3, 7}});
  const auto pool = one_node("x: f32[1, 2, 3, 5]", "global_average_pool(x)");
  expect_parts_equal(pool, run_of(pool), 2, {{0, 1}, {1, 5}});
}

TEST(Restrict, ANormOfPartialSumsIsRefused) {
  const auto norm = one_node("x: f32[3, 4]  s: f32[4]", "layer_norm(x, s; axis=1)");
  const auto part =
      restrict_to(norm.graph, norm.node, norm.space, test::part_of(norm.space, 1, {0, 2}));
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, core::ErrorCode::kUnsupported);
  EXPECT_NE(part.error().message.find("must join 2 stages"), std::string::npos);
}

TEST(Restrict, PartialSumPlusAScalarHasNoSuchLoop) {
  // A sum that is cut cannot pass through an addition: x + 1 has index loops only.
  const auto add = one_node("x: f32[3, 4]  c: f32[]", "add(x, c)");
  for (const Loop& loop : add.space.loops) EXPECT_TRUE(loop.is_index());
}

TEST(Restrict, BorderPartsKeepTheWholeKernel) {
  const auto one =
      one_node("x: f32[1, 2, 6, 6]  w: f32[3, 2, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])");
  const auto part =
      restrict_to(one.graph, one.node, one.space, test::part_of(one.space, 1, {0, 1}));
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->regions.inputs[1].element_count(), 3 * 2 * 9);
  expect_parts_equal(one, run_of(one), 1, {{0, 1}, {1, 2}, {2, 6}});
}

TEST(Restrict, DigitsInsideAReshapedDimension) {
  const auto one = one_node("x: f32[2, 4, 6]", "reshape(x; shape=[8, 6])");
  const NodeRun run = run_of(one);
  expect_parts_equal(one, run, 1, {{0, 1}, {1, 4}});
  const auto part =
      restrict_to(one.graph, one.node, one.space, test::part_of(one.space, 1, {1, 3}));
  EXPECT_FALSE(part->regions.outputs[0].is_box());
  EXPECT_EQ(part->regions.outputs[0].extents(), (core::Dims{4, 6}));
}

TEST(Restrict, IndicesIntoACutTableAreShifted) {
  const auto one = one_node("x: f32[4, 7, 2]  i: i64[3, 2]", "gather(x, i; axis=1)");
  const NodeRun run = run_of(one, -7, 6);  // negative ones count from the end of the whole
  const auto& loop = one.space.loops.back();
  ASSERT_EQ(loop.selected_by, 1U);
  expect_parts_equal(one, run, one.space.loops.size() - 1, {{0, 1}, {1, 4}, {4, 7}});
}

TEST(Restrict, LabelsOfCutClasses) {
  for (const char* call : {"nll_loss(x, t)", "nll_loss(x, t; reduction=\"sum\", ignore_index=[1])",
                           "nll_loss(x, t; reduction=\"none\", ignore_index=[-3])"}) {
    const auto one = one_node("x: f32[5, 4]  t: i64[5]", call);
    std::size_t classes = 0;
    while (one.space.loops[classes].size != 4) ++classes;
    NodeRun run = run_of(one, 0, 3);
    expect_parts_equal(one, run, classes, {{0, 1}, {1, 2}, {2, 4}});
  }
}

}  // namespace
}  // namespace soapstone::ops
