// Programs of ranks train as the model does: every weight and state that a step leaves is that of
// the step on one device.
#include "parallel/lowering/step_cuts.h"

#include <gtest/gtest.h>

#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/planning/named.h"
#include "parallel/training/training_step.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

class NamedStrategyTrains : public testing::TestWithParam<std::tuple<std::size_t, std::string>> {};

void expect_same_step(const PlannedNetwork& net, const MeshPlan& plan, const Freedom& freedom) {
  TrainingOptions options;
  options.optimizer = Optimizer::kAdam;
  for (const core::TensorId input : net.graph.inputs())
    if (net.is_weight[input.index()]) options.weights.push_back(input);
  const auto step = training_step(net.graph, options);
  ASSERT_TRUE(step.ok()) << step.error().to_string();
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const CutStep cut = cut_step(*step, {net.graph, loops, net.is_weight}, cuts_of(plan),
                               {plan.shape.microbatches, freedom.cuts_states});
  const auto programs = lower(step->graph, cut.loops, cut.is_weight, cut.cuts);
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  const auto difference = check_programs(step->graph, *programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_FALSE(*difference) << "rank " << (*difference)->rank << ", "
                            << step->graph.tensor((*difference)->tensor).name;
}

TEST_P(NamedStrategyTrains, AsTheModelDoes) {
  const auto& [number, name] = GetParam();
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
  expect_same_step(net, planned->plan, options.freedom);
}

INSTANTIATE_TEST_SUITE_P(All, NamedStrategyTrains,
                         testing::Combine(testing::Range(std::size_t{0}, std::size_t{6}),
                                          testing::ValuesIn(strategy_names())),
                         [](const auto& test) {
                           return in_letters(small_networks()[std::get<0>(test.param)].name + "_" +
                                             std::get<1>(test.param));
                         });

}  // namespace
}  // namespace soapstone::parallel
