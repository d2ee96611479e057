// Steps of whole small networks: gradients against central differences in doubles, losses that
// fall, what is kept and what is computed again, and what cannot be trained.
#include "parallel/training/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/networks/builders.h"
#include "tests/parallel/training/networks.h"

namespace soapstone::parallel {
namespace {

using ::testing::HasSubstr;

class EveryNetwork : public ::testing::TestWithParam<TrainedNetwork> {};

TEST_P(EveryNetwork, HasTheGradientsOfDifferences) {
  const core::Graph forward = graph_of(GetParam().text());
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kSquared}) {
    Trained trained = train(forward, {.loss = loss});
    ASSERT_EQ(trained.step().weights.size(), GetParam().weights);
    for (std::size_t k = 0; k < trained.step().weights.size(); ++k) {
      SCOPED_TRACE(forward.tensor(trained.step().weights[k].source).name);
      expect_near(trained.gradient(k), trained.difference_quotients(k));
    }
  }
}

TEST_P(EveryNetwork, LearnsWithEveryOptimizer) {
  const core::Graph forward = graph_of(GetParam().text());
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam}) {
    Trained trained = train(forward, {.optimizer = optimizer});
    const double before = trained.loss();
    for (int k = 0; k < 5; ++k) trained.advance();
    EXPECT_LT(trained.loss(), before) << static_cast<int>(optimizer);
  }
}

TEST_P(EveryNetwork, HasTheSameGradientsWhenResultsAreComputedAgain) {
  const core::Graph forward = graph_of(GetParam().text());
  const Trained kept = train(forward);
  for (const Recompute recompute : {Recompute::kCheap, Recompute::kHalf, Recompute::kAll}) {
    const Trained again = train(forward, {.saved = saved(forward, recompute)});
    EXPECT_LT(again.step().kept.size(), kept.step().kept.size());
    for (std::size_t k = 0; k < kept.step().weights.size(); ++k)
      EXPECT_EQ(again.gradient(k), kept.gradient(k));
  }
}

TEST_P(EveryNetwork, SurvivesText) {
  const auto step = training_step(graph_of(GetParam().text()));
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(graph_of(core::print(step->graph)).hash(), step->graph.hash());
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetwork, ::testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

std::size_t count(const TrainingStep& step, Phase phase) {
  std::size_t nodes = 0;
  for (const core::NodeId id : step.graph.order()) nodes += step.phases[id.index()] == phase;
  return nodes;
}

TEST(TrainingStep, SaysWhatEachNodeIsFor) {
  const core::Graph forward = graph_of(mlp());
  const TrainingStep step = training_step(forward).value();
  EXPECT_EQ(count(step, Phase::kForward), forward.order().size());
  EXPECT_EQ(count(step, Phase::kLoss), 2u);
  EXPECT_EQ(count(step, Phase::kUpdate), 4u);
  EXPECT_EQ(count(step, Phase::kRecompute), 0u);
  EXPECT_EQ(step.graph.inputs().size(), 1u + 1u + 1u + 4u);  // x, labels, rate, weights
  EXPECT_EQ(step.graph.outputs().size(), 1u + 4u);
}

TEST(TrainingStep, KeepsBordersOfBlocksAlone) {
  const core::Graph forward = graph_of(mlp());
  const TrainingStep step =
      training_step(forward, {.saved = saved(forward, Recompute::kAll, {named(forward, "h")})})
          .value();
  EXPECT_TRUE(std::ranges::count(step.kept, named(forward, "h")));
  EXPECT_FALSE(std::ranges::count(step.kept, named(forward, "t")));
  EXPECT_EQ(count(step, Phase::kRecompute), 2u);  // the sum with the bias, tanh
}

TEST(TrainingStep, DoesNotTrainWhatIsFrozenOrAScalar) {
  const core::Graph net = graph_of(conv_net());
  const TrainingStep step =
      training_step(net, {.frozen = {named(net, "m"), named(net, "p")}}).value();
  EXPECT_EQ(step.weights.size(), 5u);
  const core::Graph forward = graph_of(attention());
  const TrainingStep whole = training_step(forward).value();
  for (const TrainedWeight& weight : whole.weights)
    EXPECT_NE(weight.source, named(forward, "half"));
}

TEST(TrainingStep, TrainsInputsThatAreCalledWeights) {
  const core::Graph forward =
      graph_of("graph g\n  x: f32[4, 3]\n  w: f32[3, 2]\n  y = matmul(x, w)\n  return y\n");
  EXPECT_FALSE(training_step(forward).ok());
  Trained trained = train(forward, {.weights = {named(forward, "w")}});
  ASSERT_EQ(trained.step().weights.size(), 1u);
  EXPECT_EQ(trained.step().weights[0].value, named(forward, "w"));
  expect_near(trained.gradient(0), trained.difference_quotients(0));
}

TEST(TrainingStep, TakesAScalarOutputForTheLoss) {
  const core::Graph forward =
      graph_of("graph g\n  x: f32[3]\n" + weights({{"w", {3}}}) +
               "  p = mul(x, w)\n  y = reduce_sum(p; axes=[0], keep_dims=0)\n  return y, p\n");
  const TrainingStep step = training_step(forward).value();
  EXPECT_EQ(step.loss, forward.outputs()[0]);
  EXPECT_FALSE(step.labels.valid());
  EXPECT_EQ(step.graph.outputs()[0], step.loss);
}

TEST(TrainingStep, PassesOptionsToTheUpdate) {
  const core::Graph forward = graph_of(mlp());
  const TrainingStep step =
      training_step(forward, {.optimizer = Optimizer::kMomentum,
                              .update_attributes = {{"mode", std::string("nesterov")}}})
          .value();
  EXPECT_THAT(core::print(step.graph), HasSubstr("alpha=0.9, beta=1.0, mode=\"nesterov\""));
  const auto refused =
      training_step(forward, {.update_attributes = {{"mode", std::string("nesterov")}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("unknown attribute"));
}

TEST(TrainingStep, TrainsATransformer) {
  const core::Graph forward =
      models::build_model(
          "bert_base",
          {{"hidden", 24}, {"layers", 12}, {"vocabulary", 100}, {"seq", 8}, {"batch", 2}})
          .value();
  const auto step = training_step(forward, {.optimizer = Optimizer::kAdam});
  ASSERT_TRUE(step.ok()) << step.error().to_string();
  // 16 weights a layer, four tables and norms of embeddings, two of the pooler.
  EXPECT_EQ(step->weights.size(), 12u * 16u + 5u + 2u);
}

struct Untrainable {
  const char* message;
  std::string text;
  TrainingOptions options = {};
};

TEST(TrainingStep, SaysWhatCannotBeTrained) {
  const std::string w = weights({{"w", {3}}});
  const Untrainable cases[] = {
      {"no output has floating-point elements",
       "graph g\n  x: f32[3]\n" + w + "  p = mul(x, w)\n  y = cast(p; to=\"i64\")\n  return y\n"},
      {"no output is a floating-point scalar",
       "graph g\n  x: f32[3]\n" + w + "  y = mul(x, w)\n  return y\n",
       {.loss = Loss::kOutput}},
      {"depends on no weight", "graph g\n  x: f32[3]\n  y = relu(x)\n  return y\n"},
      {"depends on no weight",
       "graph g\n  x: f32[3]\n" + w + "  f = floor(w)\n  y = mul(x, f)\n  return y\n"},
      {"without a meaning",
       "graph g\n  x: f32[3]\n" + w +
           "  p = mul(x, w)\n  q: f32[3] = opaque(p; op_type=\"Foo\") @foo\n  return q\n"},
      {"a weight is no input or constant",
       "graph g\n" + w + "  y = relu(w)\n  return y\n",
       {.weights = {TensorId(1)}}},
      {"not one for each tensor",
       "graph g\n" + w + "  y = relu(w)\n  return y\n",
       {.saved = {true}}},
  };
  for (const Untrainable& c : cases) {
    const auto step = training_step(graph_of(c.text), c.options);
    ASSERT_FALSE(step.ok()) << c.message;
    EXPECT_THAT(step.error().message, HasSubstr(c.message));
  }
}

TEST(TrainingStep, PassesAnOpaqueNodeThatNoWeightFeeds) {
  const auto step = training_step(
      graph_of("graph g\n  x: f32[3]\n" + weights({{"w", {3}}}) +
               "  q: f32[3] = opaque(x; op_type=\"Foo\")\n  y = mul(q, w)\n  return y\n"));
  EXPECT_TRUE(step.ok());
}

}  // namespace
}  // namespace soapstone::parallel
