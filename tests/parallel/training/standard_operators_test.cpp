// Steps that are written with standard operators compute what they computed.
#include "parallel/training/standard_operators.h"

#include <gtest/gtest.h>

#include "ops/gradients/gradient_operator.h"
#include "parallel/training/ordinary_gradients.h"
#include "parallel/training/training_forms.h"
#include "tests/parallel/training/networks.h"

namespace soapstone::parallel {
namespace {

TrainingStep standard(TrainingStep step) {
  auto written = with_standard_operators(std::move(step));
  EXPECT_TRUE(written.ok()) << written.error().to_string();
  return *std::move(written);
}

/// Constants such as 0.999 are rounded to floats, and 1 − 0.999 has few digits left.
void expect_close(const std::vector<Values>& actual, const std::vector<Values>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) {
    ASSERT_EQ(actual[k].size(), expected[k].size());
    for (std::size_t i = 0; i < actual[k].size(); ++i)
      EXPECT_NEAR(actual[k][i], expected[k][i], 1e-4 * (1 + std::fabs(expected[k][i])));
  }
}

class StandardNetwork : public ::testing::TestWithParam<TrainedNetwork> {};

TEST_P(StandardNetwork, ComputesTheSameStep) {
  const core::Graph forward = graph_of(GetParam().text());
  for (const Optimizer optimizer :
       {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam, Optimizer::kAdamW}) {
    const TrainingStep step = training_step(forward, {.optimizer = optimizer}).value();
    Trained plain(step, forward), written(standard(step), forward);
    for (const core::NodeId id : written.step().graph.order()) {
      EXPECT_FALSE(ops::gradient_of(written.step().graph, id).has_value());
      EXPECT_LT(id.index(), written.step().phases.size());
    }
    plain.advance();
    written.advance();
    expect_close(written.run(), plain.run());
  }
}

INSTANTIATE_TEST_SUITE_P(All, StandardNetwork, ::testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

TEST(TrainingStep, AdamOfFrameworksIsThatOfOnnxWithoutEpsilon) {
  const core::Graph forward = graph_of(mlp());
  TrainingOptions options{.optimizer = Optimizer::kAdam,
                          .update_attributes = {{"epsilon", 0.0}, {"norm_coefficient", 0.5}}};
  const TrainingStep onnx = training_step(forward, options).value();
  options.corrects_moments = true;
  const TrainingStep framework = training_step(forward, options).value();
  Trained first(onnx, forward), second(framework, forward);
  first.set_step(3);
  second.set_step(3);
  expect_close(second.run(), first.run());
  for (const core::NodeId id : framework.graph.order()) {
    const bool is_update = framework.phases[id.index()] == Phase::kUpdate;
    EXPECT_TRUE(!is_update || framework.graph.node(id).inputs.size() <= 2);
  }
}

TEST(StandardOperators, ComputeASharedValueOnce) {
  const core::Graph forward = graph_of(attention());
  const TrainingStep step = standard(training_step(forward).value());
  std::set<std::pair<const core::OpSchema*, std::vector<TensorId>>> seen;
  for (const core::NodeId id : step.graph.order()) {
    const core::Node& node = step.graph.node(id);
    if (node.op->name != "sqrt" && node.op->name != "exp") continue;
    EXPECT_TRUE(seen.emplace(node.op, node.inputs).second) << core::print(step.graph);
  }
}

// --- Batch norm ---------------------------------------------------------------------------------

const char* const kNormalized = "  n = batch_norm(c, s, b, m, p)\n";

TEST(TrainingForms, BatchNormHasTheGradientsOfDifferences) {
  const core::Graph forward = graph_of(conv_net());
  const auto trained = in_training(forward);
  ASSERT_TRUE(trained.ok()) << trained.error().to_string();
  ASSERT_EQ(trained->carried.size(), 2u);
  TrainingOptions options{.carried = trained->carried};
  for (const CarriedTensor& carried : trained->carried) options.frozen.push_back(carried.source);
  const TrainingStep step = training_step(trained->graph, options).value();
  EXPECT_EQ(step.weights.size(), 5u);
  Trained run(standard(step), trained->graph);
  for (std::size_t k = 0; k < step.weights.size(); ++k)
    expect_near(run.gradient(k), run.difference_quotients(k));
}

TEST(TrainingForms, RunningStatisticsFollowTheBatch) {
  const core::Graph forward =
      graph_of("graph norm\n  c: f32[2, 1, 2]\n  s: f32[1] = {1}\n  b: f32[1] = {0}\n"
               "  m: f32[1] = {8}\n  p: f32[1] = {4}\n" +
               std::string(kNormalized) + "  return n\n");
  const TensorId result = forward.outputs()[0];
  const auto trained = in_training(forward, {{result, 0.75}});
  ASSERT_TRUE(trained.ok());
  const auto outputs =
      ops::evaluate_graph<double>(trained->graph, std::vector<Values>{{1, 3, 5, 7}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0], (Values{0.75 * 8 + 0.25 * 4}));
  EXPECT_EQ((*outputs)[1], (Values{0.75 * 4 + 0.25 * 5}));
  const double unit = 1 / std::sqrt(5 + 1e-5);
  expect_near((*outputs)[2], {-3 * unit, -unit, unit, 3 * unit});
}

TEST(TrainingForms, NormsThatShareStatisticsFollowOneAfterTheOther) {
  const core::Graph forward =
      graph_of("graph norm\n  c: f32[2, 1, 2]\n  s: f32[1] = {1}\n  b: f32[1] = {0}\n"
               "  m: f32[1] = {8}\n  p: f32[1] = {4}\n" +
               std::string(kNormalized) +
               "  r = relu(c)\n  o = batch_norm(r, s, b, m, p)\n  y = add(n, o)\n  return y\n");
  const auto trained = in_training(forward, {});
  ASSERT_TRUE(trained.ok());
  ASSERT_EQ(trained->carried.size(), 2u);
  const auto outputs =
      ops::evaluate_graph<double>(trained->graph, std::vector<Values>{{1, 3, 5, 7}});
  ASSERT_TRUE(outputs.ok());
  expect_near((*outputs)[0], {0.9 * (0.9 * 8 + 0.1 * 4) + 0.1 * 4});
}

TEST(TrainingForms, AStatisticThatANodeComputesIsRefused) {
  const core::Graph forward =
      graph_of("graph norm\n  c: f32[2, 1, 2]\n  s: f32[1] = {1}\n  b: f32[1] = {0}\n"
               "  x: f32[1]\n  p: f32[1] = {4}\n  m = exp(x)\n" +
               std::string(kNormalized) + "  return n\n");
  const auto trained = in_training(forward);
  ASSERT_FALSE(trained.ok());
  EXPECT_EQ(trained.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_NE(trained.error().message.find("a running statistic of 'n'"), std::string::npos);
}

// --- Decoupled weight decay ---------------------------------------------------------------------

TEST(TrainingStep, DecaysWeightsBesideTheGradient) {
  const core::Graph forward = graph_of(mlp());
  const auto adam = training_step(forward, {.optimizer = Optimizer::kAdam}).value();
  const auto adamw =
      training_step(forward, {.optimizer = Optimizer::kAdamW, .weight_decay = 0.5}).value();
  const Trained plain(adam, forward), decayed(adamw, forward);
  const Values before = forward.tensor(adam.weights[0].source).value->to_doubles();
  const Values a = plain.run()[1], b = decayed.run()[1];
  for (std::size_t k = 0; k < before.size(); ++k)
    EXPECT_NEAR(a[k] - b[k], 0.05 * 0.5 * before[k], 1e-12);
}

}  // namespace
}  // namespace soapstone::parallel
