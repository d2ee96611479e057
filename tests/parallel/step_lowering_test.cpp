// Programs of ranks train as the model does: every weight and state that a step leaves is that of
// the step on one device.
#include "parallel/lowering/step_cuts.h"

#include <array>
#include <map>
#include <variant>

#include <gtest/gtest.h>

#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/planning/named.h"
#include "parallel/training/ordinary_gradients.h"
#include "parallel/training/standard_operators.h"
#include "parallel/training/training_step.h"
#include "rules/rule/rule.h"
#include "tests/parallel/random_cuts.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

/// With operators of their own for gradients, or with ordinary ones.
enum class Form : std::uint8_t { kGradients, kOrdinary };

TrainingStep step_of(const PlannedNetwork& net, Form form) {
  TrainingOptions options;
  options.optimizer = Optimizer::kAdam;
  for (const core::TensorId input : net.graph.inputs())
    if (net.is_weight[input.index()]) options.weights.push_back(input);
  auto step = training_step(net.graph, options);
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  if (form == Form::kGradients) return *std::move(step);
  static const rules::RuleSet kRules(
      rules::read_rules(SOAPSTONE_SOURCE_DIR "/rules/gradients.rules").value().rules);
  step = with_ordinary_gradients(*std::move(step), kRules);
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  step = with_standard_operators(*std::move(step));
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  return *std::move(step);
}

void expect_same_step(const PlannedNetwork& net, const TrainingStep& step, const MeshPlan& plan,
                      const Freedom& freedom) {
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const CutStep cut = cut_step(step, {net.graph, loops, net.is_weight}, cuts_of(plan),
                               {plan.shape.microbatches, freedom.cuts_states});
  const auto programs = lower(step.graph, cut.loops, cut.is_weight, cut.cuts);
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  const auto difference = check_programs(step.graph, *programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_FALSE(*difference) << "rank " << (*difference)->rank << ", "
                            << step.graph.tensor((*difference)->tensor).name;
}

class NamedStrategyTrains
    : public testing::TestWithParam<std::tuple<std::size_t, std::string, Form>> {};

TEST_P(NamedStrategyTrains, AsTheModelDoes) {
  const auto& [number, name, form] = GetParam();
  const SmallNetwork& small = small_networks()[number];
  const PlannedNetwork net = network(small.name, small.sizes);
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 4;
  const auto strategy = named_strategy(name);
  ASSERT_TRUE(strategy.ok());
  options.freedom = (*strategy)->freedom;
  const core::StopToken never;
  const auto planned = plan_on_meshes(net.graph, net.is_weight, topology("k80x4-ib"), options,
                                      core::silent(), never);
  if (!planned) {
    ASSERT_EQ(planned.error().code, core::ErrorCode::kUnsupported);
    GTEST_SKIP() << planned.error().to_string();
  }
  expect_same_step(net, step_of(net, form), planned->plan, options.freedom);
}

/// The gradients of a weight that several operators read are added before ranks exchange them.
TEST(SharedWeights, HaveOneSumOfGradients) {
  const PlannedNetwork net =
      network("rnntc", {{"batch", 4}, {"steps", 3}, {"hidden", 8}, {"vocabulary", 16}});
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = 2;
  options.freedom = (*named_strategy("data"))->freedom;
  const core::StopToken never;
  const auto planned = plan_on_meshes(net.graph, net.is_weight, topology("k80x4-ib"), options,
                                      core::silent(), never);
  ASSERT_TRUE(planned.ok()) << planned.error().to_string();
  const TrainingStep step = step_of(net, Form::kGradients);
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const CutStep cut =
      cut_step(step, {net.graph, loops, net.is_weight}, cuts_of(planned->plan), StepCutOptions());
  const auto programs = lower(step.graph, cut.loops, cut.is_weight, cut.cuts);
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  std::map<core::Dims, int> sums;  // less than weights, by shape
  for (const TrainedWeight& weight : step.weights)
    --sums[*core::concrete(step.graph.tensor(weight.value).type.shape)];
  const RankProgram& program = programs->front();
  for (const RankStep& each : program.steps)
    if (const auto* sum = std::get_if<AllReduceStep>(&each))
      ++sums[*core::concrete(program.values[sum->from.index()].shape)];
  for (const auto& [dims, more] : sums) {
    if (dims.empty()) continue;
    EXPECT_LE(more, 0) << core::element_count(dims) << " elements";
  }
}

INSTANTIATE_TEST_SUITE_P(All, NamedStrategyTrains,
                         testing::Combine(testing::Range(std::size_t{0}, std::size_t{6}),
                                          testing::ValuesIn(strategy_names()),
                                          testing::Values(Form::kGradients, Form::kOrdinary)),
                         [](const auto& test) {
                           return in_letters(
                               small_networks()[std::get<0>(test.param)].name + "_" +
                               std::get<1>(test.param) +
                               (std::get<2>(test.param) == Form::kOrdinary ? "_ordinary" : ""));
                         });

class RandomPlanTrains : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomPlanTrains, AsTheModelDoes) {
  const SmallNetwork& small = small_networks()[GetParam()];
  const PlannedNetwork net = network(small.name, small.sizes);
  const std::array steps = {step_of(net, Form::kGradients), step_of(net, Form::kOrdinary)};
  RandomCuts random(net, 2);
  int run = 0;
  for (int k = 0; k < random_plans(3); ++k) {
    const TrainingStep& step = steps[random.below(2)];
    const auto chunks = static_cast<std::int64_t>(1 + random.below(2));
    const PlannedCuts cuts = random.draw(chunks);
    const StepCutOptions options{static_cast<std::int64_t>(1 + random.below(2)),
                                 random.below(2) == 0};
    const CutStep cut = cut_step(step, {net.graph, random.loops(), net.is_weight}, cuts, options);
    const auto programs = lower(step.graph, cut.loops, cut.is_weight, cut.cuts);
    if (!programs && programs.error().code == core::ErrorCode::kUnsupported) {
      EXPECT_GT(options.microbatches, 1) << "plan " << k << ": " << programs.error().to_string();
      continue;
    }
    ++run;
    ASSERT_TRUE(programs.ok()) << "plan " << k << ": " << programs.error().to_string();
    const auto difference = check_programs(step.graph, *programs, static_cast<std::uint64_t>(k));
    ASSERT_TRUE(difference.ok()) << "plan " << k << ": " << difference.error().to_string();
    EXPECT_FALSE(*difference) << "plan " << k << ": rank " << (*difference)->rank << ", "
                              << step.graph.tensor((*difference)->tensor).name;
  }
  EXPECT_GT(run, 0);
  RecordProperty("equal", run);
}

INSTANTIATE_TEST_SUITE_P(All, RandomPlanTrains, testing::Range(std::size_t{0}, std::size_t{6}),
                         [](const auto& test) { return small_networks()[test.param].name; });

}  // namespace
}  // namespace soapstone::parallel
