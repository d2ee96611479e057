// Cuts into parts by the rates of devices: in the stages of a pipeline, and with windows.
#include <gtest/gtest.h>

#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"
#include "parallel/plans/plan_document.h"
#include "runtime/device/device_kinds.h"
#include "tests/parallel/planned_network.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {
namespace {

/// Nodes of four V100 and four P100 each.
Topology mixed_nodes(std::int64_t nodes) {
  std::vector<DeviceRun> runs;
  for (std::int64_t node = 0; node < nodes; ++node) {
    runs.push_back({0, 4});
    runs.push_back({1, 4});
  }
  return *Topology::make(
      Hierarchy{"mixed",
                {*runtime::find_device_kind("v100"), *runtime::find_device_kind("p100")},
                runs,
                {{"node", 8, 3, 4e10}, {"cluster", nodes, 6, 1.25e10}}});
}

MeshPlanOutcome in_two_stages(const PlannedNetwork& net, const Topology& machine, bool unevenly) {
  MeshPlanOptions options;
  options.is_training = true;
  options.sizes.stages = 2;
  options.freedom.cuts_unevenly = unevenly;
  const core::StopToken never;
  auto outcome = plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

TEST(UnevenCuts, AreThoseOfEachStageIfAllStagesAreAlike) {
  const PlannedNetwork net = network("resnet50", {{"batch", 512}});
  const Topology machine = mixed_nodes(2);
  const MeshPlanOutcome uneven = in_two_stages(net, machine, true);
  ASSERT_TRUE(uneven.plan.shape.is_uneven);
  ASSERT_TRUE(uneven.plan.uneven);
  EXPECT_GT(uneven.plan.uneven->grains.front(), uneven.plan.uneven->grains.back());
  const MeshPlanOutcome even = in_two_stages(net, machine, false);
  EXPECT_LT(uneven.plan.time.total_us, 0.97 * even.plan.time.total_us);
  EXPECT_LE(uneven.lower_bound.us, uneven.plan.time.total_us);
  const PlanDocument document = document_of(net.graph, net.is_weight, machine, uneven);
  const auto read = plan_from_json(plan_to_json(document));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(*read, document);
}

/// A stage of V100 and one of P100 have nothing to share unevenly.
TEST(UnevenCuts, AreNoneIfStagesDiffer) {
  const PlannedNetwork net = network("mlp", {{"batch", 512}, {"layers", 8}});
  EXPECT_FALSE(in_two_stages(net, topology("v100-p100"), true).plan.shape.is_uneven);
}

/// Bytes that a convolution exchanges if its rows are cut along the only axis.
double halo_bytes(const std::optional<UnevenAxis>& uneven) {
  const core::Graph graph = graph_of("graph halo\n  x: f32[1, 8, 64, 32]\n  w: f32[8, 8, 3, 3]\n"
                                     "  y = conv(x, w; pads=[1, 1, 1, 1])\n  return y\n");
  std::vector<bool> is_weight(graph.tensor_bound());
  is_weight[graph.inputs()[1].index()] = true;
  const GraphLoops loops = graph_loops(graph, is_weight);
  const StepWork work = step_work(graph, is_weight, {});
  std::vector<double> exchanged;
  const Mesh mesh(
      {2},
      [&](Collective what, std::size_t, double bytes) {
        if (what == Collective::kAllToAll) exchanged.push_back(bytes);
        return 0.0;
      },
      uneven);
  const ComputeRates rates;
  ChoiceOptions options;
  options.policies = {AxisPolicy::kAny};
  options.rates_of_kinds = {rates, rates};
  node_choices(graph, graph.order().back(), loops, work, mesh, rates, options);
  EXPECT_EQ(exchanged.size(), 2);  // Cut along rows, and along columns.
  return exchanged.empty() ? 0 : exchanged.front();
}

TEST(UnevenCuts, ExchangeAsManyRowsAsEvenOnes) {
  constexpr double kRowBytes = 4.0 * 8 * 32;
  EXPECT_DOUBLE_EQ(halo_bytes({}), 2 * kRowBytes);
  EXPECT_DOUBLE_EQ(halo_bytes(UnevenAxis{0, {3, 1}, {0, 1}}), 2 * kRowBytes);
}

}  // namespace
}  // namespace soapstone::parallel
