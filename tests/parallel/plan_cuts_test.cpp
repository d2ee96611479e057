// Cuts from a plan's file are those of the plan that it was written from.
#include "parallel/plans/plan_cuts.h"

#include <gtest/gtest.h>

#include "parallel/planning/named.h"
#include "parallel/planning/strategies.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

TEST(DigitName, IsReadAsItWasWritten) {
  for (const Digits::Digit& digit : {Digits::Digit{0, 1, 0}, {15, 1, 0}, {1, 64, 768}, {2, 1, 4}})
    EXPECT_EQ(parse_digit_name(digit_name(digit)), digit) << digit_name(digit);
  for (const char* const name : {"", "x", "100", "1:", "1:2", "1:2:", "1:0:4", "1:3:4", "1:2:4:8",
                                 "01", "1:02:4", "1:-2:4", ":2:4", "1:4:0"})
    EXPECT_FALSE(parse_digit_name(name)) << name;
}

/// The part of the layouts of weights that lowering reads.
std::vector<Layout> read_layouts(const std::vector<Layout>& layouts,
                                 const std::vector<bool>& is_weight) {
  std::vector<Layout> result(layouts.size());
  for (std::size_t t = 0; t < layouts.size(); ++t)
    for (std::size_t a = 0; a < kMostAxes; ++a)
      if (is_weight[t] && layouts[t].axes[a] >= 0) result[t].axes[a] = layouts[t].axes[a];
  return result;
}

void expect_same_mesh(const RankMesh& a, const RankMesh& b) {
  ASSERT_EQ(a.rank_count(), b.rank_count());
  ASSERT_EQ(a.axis_count(), b.axis_count());
  constexpr std::int64_t kSize = 60480;  // Whatever grains are, they divide it.
  for (std::size_t axis = 0; axis < a.axis_count(); ++axis) {
    ASSERT_EQ(a.axis_size(axis), b.axis_size(axis));
    for (std::int64_t rank = 0; rank < a.ranks_of_stage(); ++rank)
      EXPECT_EQ(a.part(kSize, {axis}, a.position_of(rank)),
                b.part(kSize, {axis}, b.position_of(rank)));
  }
}

class CutsOfNamedStrategies : public testing::TestWithParam<std::string> {};

TEST_P(CutsOfNamedStrategies, SurviveTheFile) {
  std::size_t plans = 0;
  for (const auto& [name, sizes] : small_networks()) {
    const PlannedNetwork net = network(name, sizes);
    const Topology machine = topology("k80x4-ib");
    MeshPlanOptions options;
    options.devices = 4;
    options.freedom = (*named_strategy(GetParam()))->freedom;
    const core::StopToken never;
    const auto planned =
        plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
    if (!planned) continue;
    ++plans;
    PlanDocument document = document_of(net.graph, net.is_weight, machine, *planned);
    document.strategy = GetParam();
    const auto read = plan_from_json(plan_to_json(document));
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    const auto belongs = check_belongs(*read, net.graph, net.is_weight, machine);
    ASSERT_TRUE(belongs.ok()) << belongs.error().to_string();
    const GraphLoops loops = graph_loops(net.graph, net.is_weight);
    const auto cuts = cuts_of(*read, net.graph, loops, net.is_weight);
    ASSERT_TRUE(cuts.ok()) << cuts.error().to_string();
    const PlannedCuts wanted = cuts_of(planned->plan);
    expect_same_mesh(cuts->mesh, wanted.mesh);
    EXPECT_EQ(cuts->chunks, wanted.chunks);
    EXPECT_EQ(cuts->gathers_once, wanted.gathers_once);
    for (const core::NodeId id : net.graph.order()) {
      EXPECT_EQ(cuts->loops[id.index()], wanted.loops[id.index()]);
      EXPECT_EQ(cuts->piece_of_node[id.index()], wanted.piece_of_node[id.index()]);
    }
    EXPECT_EQ(read_layouts(cuts->weights, net.is_weight),
              read_layouts(wanted.weights, net.is_weight));
  }
  if (plans == 0) GTEST_SKIP() << "no network admits it";
}

std::vector<std::string> all_strategies() {
  std::vector<std::string> names;
  for (const NamedStrategy& strategy : named_strategies()) names.push_back(strategy.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, CutsOfNamedStrategies, testing::ValuesIn(all_strategies()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(CutsOfADocument, OfAnUnevenMeshHaveItsShares) {
  const PlannedNetwork net = network("resnet50", {{"batch", 512}});
  const Topology machine = topology("v100-p100");
  MeshPlanOptions options;
  options.is_training = true;
  const core::StopToken never;
  const auto planned =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  ASSERT_TRUE(planned.ok());
  ASSERT_TRUE(planned->plan.uneven);
  const PlanDocument document = document_of(net.graph, net.is_weight, machine, *planned);
  const auto cuts =
      cuts_of(document, net.graph, graph_loops(net.graph, net.is_weight), net.is_weight);
  ASSERT_TRUE(cuts.ok());
  const auto grains = planned->plan.uneven->all_grains();
  const std::size_t axis = planned->plan.uneven->axis;
  const RankMesh wanted = cuts_of(planned->plan).mesh;
  for (std::int64_t rank = 0; rank < wanted.ranks_of_stage(); ++rank)
    EXPECT_EQ(cuts->mesh.part(grains, {axis}, wanted.position_of(rank)),
              wanted.part(grains, {axis}, wanted.position_of(rank)));
}

/// A digit of a dimension that one of the nodes runs over.
std::optional<std::int8_t> inner_digit(const core::Graph& graph, const GraphLoops& loops) {
  for (const core::NodeId id : graph.order())
    for (const ops::Loop& loop : loops.spaces[id.index()].loops)
      for (const ops::LoopPlace& place : loop.outputs)
        if (place.period > 0) return loops.digits.find(place);
  return std::nullopt;
}

TEST(CutsOfADocument, CutWeightsWithinBlocks) {
  const PlannedNetwork net = network(
      "gpt",
      {{"batch", 4}, {"seq", 4}, {"layers", 1}, {"hidden", 16}, {"heads", 4}, {"vocabulary", 24}});
  const Topology machine = topology("k80x4-ib");
  MeshPlanOptions options;
  options.devices = 2;
  const core::StopToken never;
  auto planned = plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  ASSERT_TRUE(planned.ok());
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const auto digit = inner_digit(net.graph, loops);
  ASSERT_TRUE(digit);
  std::size_t weight = 0;
  while (!net.is_weight[weight]) ++weight;
  planned->plan.sharding.tensors[weight].axes = {*digit, kReplicated, kReplicated, kReplicated};
  const auto read =
      plan_from_json(plan_to_json(document_of(net.graph, net.is_weight, machine, *planned)));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const auto cuts = cuts_of(*read, net.graph, loops, net.is_weight);
  ASSERT_TRUE(cuts.ok()) << cuts.error().to_string();
  EXPECT_EQ(cuts->weights[weight].axes[0], *digit);
}

TEST(CutsOfADocument, RefusesADigitThatNothingRunsOver) {
  const PlannedNetwork net = network("mlp", {{"batch", 8}});
  const Topology machine = topology("k80x4-ib");
  MeshPlanOptions options;
  options.devices = 2;
  const core::StopToken never;
  const auto planned =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  ASSERT_TRUE(planned.ok());
  PlanDocument document = document_of(net.graph, net.is_weight, machine, *planned);
  document.weights[0].dims = {{"0:1:2", {"model"}}};
  const auto cuts =
      cuts_of(document, net.graph, graph_loops(net.graph, net.is_weight), net.is_weight);
  ASSERT_FALSE(cuts.ok());
  EXPECT_EQ(cuts.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_NE(cuts.error().message.find("'0:1:2'"), std::string::npos) << cuts.error().message;
}

}  // namespace
}  // namespace soapstone::parallel
