// Which graphs of a program are run as one, and which fall apart.
#include "parallel/running/joined_steps.h"

#include <gtest/gtest.h>

#include "parallel/running/independent_parts.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {
namespace {

core::Graph parsed_step(const std::string& body) { return graph_of("graph step\n" + body); }

/// A program of graphs whose values are vectors of four numbers but for value 1, a number.
class ProgramOfGraphs {
 public:
  explicit ProgramOfGraphs(std::size_t values) {
    program_.values.assign(values, {core::DataType::kFloat32, core::to_shape({4}), true});
    program_.values[1].shape = {};
  }
  void add(const std::string& body, std::vector<std::uint32_t> inputs,
           std::vector<std::uint32_t> outputs) {
    program_.steps.emplace_back(ComputeStep{parsed_step(body), ids(inputs), ids(outputs)});
  }
  void send(std::uint32_t value) {
    program_.steps.emplace_back(
        MessageStep{{Message{0, 1, core::TensorId(0), RankValueId(value)}}, {}});
  }
  void give(std::uint32_t value) {
    program_.outputs.push_back({core::TensorId(0), {}, RankValueId(value)});
  }
  const RankProgram& program() const { return program_; }

  static std::vector<RankValueId> ids(const std::vector<std::uint32_t>& numbers) {
    std::vector<RankValueId> all;
    for (const std::uint32_t number : numbers) all.emplace_back(number);
    return all;
  }

 private:
  RankProgram program_;
};

constexpr const char* kForward = "  x: f32[4]\n  y = relu(x)\n  return y\n";
constexpr const char* kBackward = "  x: f32[4]\n  y: f32[4]\n  z = mul(x, y)\n  return z\n";

TEST(JoinedSteps, KeepWhatOnlyALaterOneReads) {
  ProgramOfGraphs made(6);
  made.add(kForward, {0}, {2});
  made.add(kBackward, {0, 2}, {3});
  made.give(3);
  const auto runs = joined_steps(made.program());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().count, 2U);
  ASSERT_EQ(runs->front().parts.size(), 1U);
  const ComputeStep& step = runs->front().parts.front();
  EXPECT_EQ(step.inputs, ProgramOfGraphs::ids({0}));
  EXPECT_EQ(step.outputs, ProgramOfGraphs::ids({3}));
  EXPECT_EQ(step.graph.order().size(), 2U);
}

TEST(JoinedSteps, GiveWhatIsSentOrReadBehindThem) {
  ProgramOfGraphs made(6);
  made.add(kForward, {0}, {2});
  made.add(kBackward, {0, 2}, {3});
  made.send(2);
  made.give(3);
  const auto runs = joined_steps(made.program());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().parts.front().outputs, ProgramOfGraphs::ids({2, 3}));
}

TEST(JoinedSteps, EndAtExchangesAndBeforeTheSameGraphAgain) {
  ProgramOfGraphs made(10);
  made.add(kForward, {0}, {2});
  made.send(2);
  for (std::uint32_t microbatch = 0; microbatch < 3; ++microbatch) {
    made.add(kForward, {0}, {4 + 2 * microbatch});
    made.add(kBackward, {0, 4 + 2 * microbatch}, {5 + 2 * microbatch});
    if (microbatch < 2) made.give(5 + 2 * microbatch);
  }
  made.give(9);
  const auto runs = joined_steps(made.program());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 4U);
  EXPECT_EQ((*runs)[0].count, 1U);
  for (std::size_t k = 1; k < 4; ++k) {
    EXPECT_EQ((*runs)[k].count, 2U);
    EXPECT_TRUE(same_structure((*runs)[k].parts[0].graph, (*runs)[1].parts[0].graph));
  }
}

/// Two weights and their gradients; both updates read a number that is computed once.
constexpr const char* kUpdates = R"(  r: f32[]
  w: f32[4]
  g: f32[4]
  v: f32[4]
  h: f32[4]
  s = mul(r, r)
  a = mul(g, s)
  b = mul(h, s)
  c = sub(w, a)
  d = sub(v, b)
  return c, d
)";

TEST(IndependentParts, OfUpdatesAreOnesOfEachWeight) {
  const ComputeStep step{parsed_step(kUpdates), ProgramOfGraphs::ids({1, 2, 3, 4, 5}),
                         ProgramOfGraphs::ids({6, 7})};
  const auto parts = independent_parts(step);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].inputs, ProgramOfGraphs::ids({1, 2, 3}));
  EXPECT_EQ((*parts)[0].outputs, ProgramOfGraphs::ids({6}));
  EXPECT_EQ((*parts)[1].inputs, ProgramOfGraphs::ids({1, 4, 5}));
  EXPECT_EQ((*parts)[1].outputs, ProgramOfGraphs::ids({7}));
  EXPECT_TRUE(same_structure((*parts)[0].graph, (*parts)[1].graph));
}

TEST(IndependentParts, AreOneWhereATensorIsShared) {
  const ComputeStep step{parsed_step("  x: f32[4]\n  a = relu(x)\n  b = tanh(x)\n  return a, b\n"),
                         ProgramOfGraphs::ids({0}), ProgramOfGraphs::ids({2, 3})};
  const auto parts = independent_parts(step);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->size(), 1U);
}

TEST(JoinedSteps, LeaveWhatFallsApartByItself) {
  ProgramOfGraphs made(12);
  made.add(kForward, {0}, {3});
  made.add(kUpdates, {1, 2, 3, 4, 5}, {6, 7});
  made.give(6);
  made.give(7);
  const auto runs = joined_steps(made.program());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[1].parts.size(), 2U);
}

}  // namespace
}  // namespace soapstone::parallel
