// Programs of ranks compute what the model does, for plans of every kind.
#include "parallel/lowering/lowering.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "parallel/lowering/plan_check.h"
#include "parallel/planning/named.h"
#include "parallel/planning/strategies.h"
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

/// Cuts that no search would take: any loop of any node along any axis, weights cut as one of their
/// readers wants them or whole, in any number of stages.
class RandomCuts {
 public:
  RandomCuts(const PlannedNetwork& net, std::uint64_t seed)
      : net_(net), loops_(graph_loops(net.graph, net.is_weight)), random_(seed) {}

  const GraphLoops& loops() const { return loops_; }

  PlannedCuts draw() {
    const std::vector<std::vector<std::int64_t>> meshes = {{2, 1, 1}, {2, 2, 1}, {3, 1, 1},
                                                           {2, 1, 3}, {2, 2, 2}, {4, 1, 1}};
    const std::vector<std::int64_t>& sizes = meshes[below(meshes.size())];
    const auto stages = static_cast<std::int64_t>(1 + below(3));
    std::optional<UnevenAxis> uneven;
    if (sizes[2] == 2 && below(2) == 0) uneven = UnevenAxis{2, {1, 3}, {0, 0}};
    PlannedCuts cuts{RankMesh(stages, sizes, uneven)};
    cuts.loops.assign(net_.graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
    cuts.weights.assign(net_.graph.tensor_bound(), Layout{});
    cuts.piece_of_node.assign(net_.graph.node_bound(), 0);
    const Mesh mesh(
        sizes, [](Collective, std::size_t, double) { return 0.0; }, uneven);
    const StepWork work = step_work(net_.graph, net_.is_weight, {});
    ChoiceOptions options;
    options.policies.assign(3, AxisPolicy::kAny);
    const ComputeRates rates;
    options.rates_of_kinds = {rates};
    std::size_t at = 0;
    for (const core::NodeId id : net_.graph.order()) {
      const auto stage = static_cast<std::int32_t>(at++ * static_cast<std::size_t>(stages) /
                                                   net_.graph.order().size());
      cuts.piece_of_node[id.index()] = stage;
      if (net_.graph.is_constant_expression(id)) continue;
      std::vector<NodeChoice> choices =
          node_choices(net_.graph, id, loops_, work, mesh, rates, options).all;
      std::erase_if(choices, [&](const NodeChoice& choice) { return has_no_parts(id, choice); });
      const NodeChoice& choice = choices[below(choices.size())];
      cuts.loops[id.index()] = choice.loops;
      const core::Node& node = net_.graph.node(id);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k].valid() && below(2) == 0)
          cuts.weights[node.inputs[k].index()] = choice.inputs[k];
    }
    return cuts;
  }

 private:
  /// Parts of a softmax along its axis are several graphs, and a mean over some of a window is
  /// none.
  bool has_no_parts(core::NodeId id, const NodeChoice& choice) const {
    const std::vector<ops::Loop>& loops = loops_.spaces[id.index()].loops;
    const bool is_mean = net_.graph.node(id).op->name == "average_pool";
    return std::ranges::any_of(choice.loops, [&](std::int8_t number) {
      if (number < 0) return false;
      const ops::Loop& loop = loops[static_cast<std::size_t>(number)];
      return !loop.between.empty() || (is_mean && loop.role == ops::DimRole::kReduction);
    });
  }

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  const PlannedNetwork& net_;
  const GraphLoops loops_;
  std::mt19937_64 random_;
};

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
  const char* wanted = std::getenv("SOAPSTONE_RANDOM_PLANS");
  const int plans = wanted ? std::atoi(wanted) : 5;
  for (int k = 0; k < plans; ++k) {
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
