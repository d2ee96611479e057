// Steps whose gradients were rewritten by the shipped rules.
#include "parallel/training/ordinary_gradients.h"

#include <gtest/gtest.h>

#include "tests/parallel/training/networks.h"

namespace soapstone::parallel {
namespace {

const rules::RuleSet& gradient_rules() {
  static const rules::RuleSet kRules(
      rules::read_rules(SOAPSTONE_SOURCE_DIR "/rules/gradients.rules").value().rules);
  return kRules;
}

TrainingStep rewritten(const core::Graph& forward, const TrainingOptions& options = {}) {
  auto step = with_ordinary_gradients(training_step(forward, options).value(), gradient_rules());
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  return *std::move(step);
}

std::size_t gradients_in(const TrainingStep& step) {
  std::size_t count = 0;
  for (const core::NodeId id : step.graph.order())
    count += step.graph.node(id).op->name.ends_with("_grad");
  return count;
}

class RewrittenNetwork : public ::testing::TestWithParam<TrainedNetwork> {};

TEST_P(RewrittenNetwork, HasTheSameGradients) {
  const core::Graph forward = graph_of(GetParam().text());
  for (const Recompute recompute : {Recompute::kNothing, Recompute::kCheap}) {
    const TrainingOptions options{.saved = saved(forward, recompute)};
    const Trained plain = train(forward, options);
    const Trained ordinary(rewritten(forward, options), forward);
    EXPECT_LT(gradients_in(ordinary.step()), gradients_in(plain.step()));
    ASSERT_EQ(ordinary.step().weights.size(), plain.step().weights.size());
    for (std::size_t k = 0; k < plain.step().weights.size(); ++k)
      expect_near(ordinary.gradient(k), plain.gradient(k));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RewrittenNetwork, ::testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

TEST(OrdinaryGradients, LeaveNoGradientOperatorInAPerceptronButThatOfItsLoss) {
  EXPECT_EQ(gradients_in(rewritten(graph_of(mlp()))), 1u);
}

/// The law of relu has a constant of type f32.
TEST(OrdinaryGradients, AreLeftWhereALawHasNoSuchTypes) {
  const core::Graph forward = graph_of(
      "graph half\n  x: f16[2, 3]\n  w: f16[3, 4] = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, "
      "-1}\n  y = matmul(x, w)\n  z = relu(y)\n  return z\n");
  const TrainingStep step = rewritten(forward, {.loss = Loss::kSquared});
  std::size_t left = 0;
  for (const core::NodeId id : step.graph.order())
    left += step.graph.node(id).op->name == "relu_grad";
  EXPECT_EQ(left, 1u);
}

TEST(OrdinaryGradients, KeepResultsInsteadOfWhatTheyWereComputedFrom) {
  const core::Graph forward = graph_of(mlp());
  const auto plain = training_step(forward).value();
  EXPECT_TRUE(
      std::ranges::count(plain.kept, named(forward, "hb")));  // read by the gradient of tanh
  const TrainingStep step = rewritten(forward);
  EXPECT_FALSE(std::ranges::count(step.kept, named(forward, "hb")));
  EXPECT_TRUE(std::ranges::count(step.kept, named(forward, "t")));
}

}  // namespace
}  // namespace soapstone::parallel
