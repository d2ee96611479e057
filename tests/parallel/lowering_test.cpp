// Programs of ranks compute what the model does, for plans of every kind.
#include "parallel/lowering/lowering.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "parallel/lowering/plan_check.h"
#include "parallel/planning/named.h"
#include "parallel/planning/strategies.h"
#include "tests/parallel/random_cuts.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

class NamedStrategyRuns : public testing::TestWithParam<std::tuple<std::size_t, std::string>> {};

TEST_P(NamedStrategyRuns, AsTheModelDoes) {
  const auto& [number, name] = GetParam();
  const SmallNetwork& small = small_networks()[number];
  const PlannedNetwork net = network(small.name, small.sizes);
  const Topology machine = topology("k80x4-ib");
  MeshPlanOptions options;
  options.devices = 4;
  const auto strategy = named_strategy(name);
  ASSERT_TRUE(strategy.ok());
  options.freedom = (*strategy)->freedom;
  const core::StopToken never;
  const auto planned =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  if (!planned) {
    ASSERT_EQ(planned.error().code, core::ErrorCode::kUnsupported);
    GTEST_SKIP() << planned.error().to_string();
  }
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const auto programs = lower(net.graph, loops, net.is_weight, cuts_of(planned->plan));
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  const auto difference = check_programs(net.graph, *programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_FALSE(*difference) << "rank " << (*difference)->rank;
}

INSTANTIATE_TEST_SUITE_P(All, NamedStrategyRuns,
                         testing::Combine(testing::Range(std::size_t{0}, std::size_t{6}),
                                          testing::ValuesIn(strategy_names())),
                         [](const auto& test) {
                           return in_letters(small_networks()[std::get<0>(test.param)].name + "_" +
                                             std::get<1>(test.param));
                         });

/// The programs of a plan that cuts sums, so that ranks have to join what they make.
struct CutProduct {
  PlannedNetwork net = network("mlp", small_networks()[0].sizes);
  std::vector<RankProgram> programs;

  CutProduct() {
    RandomCuts random(net, 1);
    PlannedCuts cuts{RankMesh(1, {2, 1, 1}, {})};
    cuts.loops.assign(net.graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
    cuts.weights.assign(net.graph.tensor_bound(), Layout{});
    cuts.piece_of_node.assign(net.graph.node_bound(), 0);
    const GraphLoops& loops = random.loops();
    for (const core::NodeId id : net.graph.order())
      for (std::size_t l = 0; l < loops.spaces[id.index()].loops.size(); ++l)
        if (loops.spaces[id.index()].loops[l].role == ops::DimRole::kReduction)
          cuts.loops[id.index()][0] = static_cast<std::int8_t>(l);
    auto lowered = lower(net.graph, loops, net.is_weight, cuts);
    EXPECT_TRUE(lowered.ok());
    programs = *std::move(lowered);
  }

  template <class Step>
  Step& first_step(std::size_t rank) {
    for (RankStep& step : programs[rank].steps)
      if (auto* found = std::get_if<Step>(&step)) return *found;
    throw std::runtime_error("the program has no such step");
  }
};

TEST(ProgramCheck, SeesSumsThatAreNotTaken) {
  CutProduct product;
  for (std::size_t rank = 0; rank < 2; ++rank)
    product.first_step<AllReduceStep>(rank).joined = JoinedValues::kMax;
  const auto difference = check_programs(product.net.graph, product.programs, 1);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  ASSERT_TRUE(*difference);
  EXPECT_EQ((*difference)->tensor, product.net.graph.outputs()[0]);
}

TEST(ProgramCheck, SeesThatARankWaitsForEver) {
  CutProduct product;
  product.programs[1].steps.clear();
  const auto difference = check_programs(product.net.graph, product.programs, 1);
  ASSERT_FALSE(difference.ok());
  EXPECT_NE(difference.error().message.find("rank 0 waits for ever"), std::string::npos);
}

TEST(ExchangeCheck, SeesWhatHasNoPartner) {
  CutProduct product;
  EXPECT_TRUE(check_exchanges(product.programs).ok());
  product.programs[1].steps.clear();
  const auto waits = check_exchanges(product.programs);
  ASSERT_FALSE(waits.ok());
  EXPECT_NE(waits.error().message.find("rank 0 waits for ever"), std::string::npos);
}

TEST(ExchangeCheck, SeesSumsOfUnlikeElements) {
  CutProduct product;
  const RankValueId summand = product.first_step<AllReduceStep>(1).from;
  product.programs[1].values[summand.index()].shape.push_back(1);
  const auto differ = check_exchanges(product.programs);
  ASSERT_FALSE(differ.ok());
  EXPECT_NE(differ.error().message.find("with other elements"), std::string::npos);
}

TEST(ExchangeCheck, SeesMessagesThatNobodyTakes) {
  CutProduct product;
  MessageStep step;
  step.sent.push_back(
      {1000, 1, product.net.graph.outputs()[0], product.programs[0].outputs[0].value});
  product.programs[0].steps.emplace_back(step);
  const auto left = check_exchanges(product.programs);
  ASSERT_FALSE(left.ok());
  EXPECT_NE(left.error().message.find("no other one takes"), std::string::npos);
}

TEST(ProgramCheck, SeesThatAPieceOfAResultIsMissing) {
  CutProduct product;
  for (RankProgram& program : product.programs) program.outputs.clear();
  const auto difference = check_programs(product.net.graph, product.programs, 1);
  ASSERT_TRUE(difference.ok());
  ASSERT_TRUE(*difference);
  EXPECT_EQ((*difference)->rank, -1);
}

class RandomPlanRuns : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomPlanRuns, AsTheModelDoes) {
  const SmallNetwork& small = small_networks()[GetParam()];
  const PlannedNetwork net = network(small.name, small.sizes);
  RandomCuts random(net, 1);
  for (int k = 0; k < random_plans(5); ++k) {
    const PlannedCuts cuts = random.draw();
    const auto programs = lower(net.graph, random.loops(), net.is_weight, cuts);
    ASSERT_TRUE(programs.ok()) << "plan " << k << ": " << programs.error().to_string();
    const auto difference = check_programs(net.graph, *programs, static_cast<std::uint64_t>(k));
    ASSERT_TRUE(difference.ok()) << "plan " << k << ": " << difference.error().to_string();
    EXPECT_FALSE(*difference) << "plan " << k << ": rank " << (*difference)->rank;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomPlanRuns, testing::Range(std::size_t{0}, std::size_t{6}),
                         [](const auto& test) { return small_networks()[test.param].name; });

}  // namespace
}  // namespace soapstone::parallel
