// Layouts by cost: the cheapest of all combinations, kept in the cost database, and right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "cost/models/measured_cost.h"
#include "cost/timing/kernel_choice.h"
#include "gpu/gpu_backend.h"
#include "gpu/kernels/cover.h"
#include "gpu/making/layout_choice.h"
#include "gpu/making/min_cut.h"
#include "runtime/launches/execution_plan.h"
#include "tests/gpu/fake_driver.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::Fusion;
using runtime::LaunchLayouts;
using runtime::Layout;

TEST(MinCut, IsTheCheapestOfAllDivisions) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 2 + random() % 6;
    MinCut cut;
    while (cut.add_node() + 1 < count + 2) {
    }
    std::vector<std::array<std::size_t, 3>> costs;
    for (std::size_t k = 0; k < 3 * count; ++k) {
      const std::array<std::size_t, 3> cost{random() % (count + 2), random() % (count + 2),
                                            random() % 10};
      if (cost[0] == cost[1] || cost[1] == MinCut::kNear || cost[0] == MinCut::kFar) continue;
      costs.push_back(cost);
      cut.add_cost(cost[0], cost[1], static_cast<std::int64_t>(cost[2]));
    }
    const auto total = [&](const auto& is_far) {
      std::size_t sum = 0;
      for (const auto& [near, far, cost] : costs)
        if (!is_far(near) && is_far(far)) sum += cost;
      return sum;
    };
    std::size_t least = ~std::size_t{0};
    for (std::size_t bits = 0; bits < std::size_t{1} << count; ++bits)
      least = std::min(least, total([&](std::size_t node) {
                         return node == MinCut::kFar || (node > 1 && bits >> (node - 2) & 1);
                       }));
    const std::vector<bool> found = cut.divide();
    EXPECT_FALSE(found[MinCut::kNear]);
    EXPECT_TRUE(found[MinCut::kFar]);
    EXPECT_EQ(total([&](std::size_t node) { return found[node]; }), least);
  }
}

/// Branches, a tensor that two launches read, and one that a product reads through a reshape.
constexpr const char* kImageGraph = R"(graph images
  x: f32[2, 3, 6, 6]
  a: f32[4, 3, 3, 3]
  b: f32[4, 4, 1, 1]
  c: f32[4, 4, 1, 1]
  w: f32[64, 5]
  p = conv(x, a)
  q = relu(p)
  l = conv(q, b)
  r = conv(q, c)
  s = max_pool(l; kernel=[1, 1])
  t = add(s, r)
  n = conv(t, b)
  f = reshape(n; shape=[2, 64])
  y = matmul(f, w)
  return y, r
)";

bool attends(const core::Graph&, const runtime::Launch&) { return false; }

/// What launches and conversions cost if they lie so: each tensor is converted once at most.
double cost_of(const core::Graph& graph, std::span<const runtime::Launch> launches,
               std::span<const LaunchLayouts> layouts, const LayoutCosts& costs) {
  double sum = 0;
  std::map<core::TensorId, Layout> stored;
  std::set<core::TensorId> converted;
  const auto read = [&](core::TensorId id, Layout as) {
    const auto from = stored.contains(id) ? stored.at(id) : Layout::kRowMajor;
    if (from != as && !graph.is_constant_expression(id) && converted.insert(id).second)
      sum += *costs.find(runtime::conversion_signature(graph.tensor(id).type, from, as));
  };
  for (std::size_t k = 0; k < launches.size(); ++k) {
    sum += *costs.find(runtime::launch_signature(graph, launches[k], layouts[k]));
    for (std::size_t i = 0; i < launches[k].inputs.size(); ++i)
      read(launches[k].inputs[i], layouts[k].inputs[i]);
    for (std::size_t i = 0; i < launches[k].outputs.size(); ++i)
      stored[launches[k].outputs[i]] = layouts[k].outputs[i];
  }
  for (const core::TensorId output : graph.outputs()) read(output, Layout::kRowMajor);
  return sum;
}

TEST(LayoutChoice, IsTheCheapestOfAllCombinations) {
  const core::Graph graph = soapstone::graph_of(kImageGraph);
  const auto launches = *cover(graph, Fusion::kFull, attends);
  std::vector<std::vector<LaunchLayouts>> ways;
  std::size_t combinations = 1;
  for (const runtime::Launch& launch : launches)
    combinations *= ways.emplace_back(layout_ways(graph, launch)).size();
  EXPECT_GE(combinations, 16u);
  std::mt19937 random(3);
  std::size_t mixed = 0;
  for (int round = 0; round < 40; ++round) {
    LayoutCosts costs;
    EXPECT_TRUE(arrange_by_cost(graph, launches, costs).empty());
    for (std::size_t k = 0; k < launches.size(); ++k)
      for (const LaunchLayouts& way : ways[k])
        costs.note(runtime::launch_signature(graph, launches[k], way), random() % 20);
    for (std::size_t t = 0; t < graph.tensor_bound(); ++t)
      for (const auto& [from, to] : {std::pair{Layout::kRowMajor, Layout::kChannelsLast},
                                     {Layout::kChannelsLast, Layout::kRowMajor}})
        costs.note(runtime::conversion_signature(graph.tensor(core::TensorId(t)).type, from, to),
                   random() % 8);
    double least = 1e9;
    for (std::size_t number = 0; number < combinations; ++number) {
      std::vector<LaunchLayouts> all;
      std::size_t rest = number;
      for (const auto& of_launch : ways) {
        all.push_back(of_launch[rest % of_launch.size()]);
        rest /= of_launch.size();
      }
      least = std::min(least, cost_of(graph, launches, all, costs));
    }
    const auto chosen = arrange_by_cost(graph, launches, costs);
    ASSERT_EQ(chosen.size(), launches.size());
    EXPECT_EQ(cost_of(graph, launches, chosen, costs), least);
    std::set<bool> found;
    for (std::size_t k = 0; k < launches.size(); ++k)
      if (ways[k].size() > 1) found.insert(chosen[k].inputs == ways[k][0].inputs);
    mixed += found.size() > 1;
  }
  EXPECT_GT(mixed, 5u);
}

/// A database that is gone when the test is over.
class KeptLayouts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    auto opened = cost::CostDatabase::open(path_);
    ASSERT_TRUE(opened.ok());
    database_ = *std::move(opened);
    auto made = make_gpu_backend(fake_.driver(), 0, compiler_.compiler());
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    backend_ = *std::move(made);
  }
  void TearDown() override {
    database_.reset();
    std::filesystem::remove(path_);
  }
  bool is_kept(const std::string& signature) const {
    return database_->find(backend_->device().key(), signature).has_value();
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("gpu_layouts_" + std::to_string(getpid()) + ".db");
  test::FakeCompiler compiler_;
  test::FakeDriver fake_{compiler_};
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<cost::CostDatabase> database_;
};

/// All ways of a launch are timed, and the conversions around it.
TEST_F(KeptLayouts, AreMeasured) {
  const core::Graph graph = soapstone::graph_of(
      "graph g\n  x: f32[1, 2, 2, 2]\n  y = max_pool(x; kernel=[1, 1])\n  return y\n");
  const auto model =
      cost::make_measured_cost(*backend_, Fusion::kFull, database_.get(),
                               {.min_sample_us = 1, .samples = 3, .max_total_us = 100});
  EXPECT_EQ(model->graph_cost(graph).estimated_us, 0);
  const auto launches = *backend_->cover(graph, Fusion::kFull);
  ASSERT_EQ(launches.size(), 1u);
  const auto ways = layout_ways(graph, launches[0]);
  ASSERT_EQ(ways.size(), 2u);
  for (const LaunchLayouts& way : ways)
    EXPECT_TRUE(is_kept(runtime::launch_signature(graph, launches[0], way)));
  const core::TensorType& type = graph.tensor(graph.inputs()[0]).type;
  EXPECT_TRUE(
      is_kept(runtime::conversion_signature(type, Layout::kRowMajor, Layout::kChannelsLast)));
  EXPECT_TRUE(
      is_kept(runtime::conversion_signature(type, Layout::kChannelsLast, Layout::kRowMajor)));
}

/// A backend plans by what the database says.
TEST_F(KeptLayouts, DecideOnPlans) {
  const core::Graph graph =
      soapstone::graph_of("graph g\n  x: f32[1, 2, 5, 5]\n  w: f32[3, 2, 3, 3]\n  t = conv(x, w)\n"
                          "  y = max_pool(t; kernel=[2, 2])\n  return y\n");
  const auto launches = *backend_->cover(graph, Fusion::kFull);
  ASSERT_EQ(launches.size(), 2u);
  const auto keep = [&](const std::string& signature, double cost_us) {
    ASSERT_TRUE(
        database_->store(backend_->device().key(), signature, {cost_us, 0, 3, "generated"}).ok());
  };
  for (const core::TensorId id :
       {graph.inputs()[0], graph.inputs()[1], launches[0].outputs[0], graph.outputs()[0]})
    for (const auto& [from, to] : {std::pair{Layout::kRowMajor, Layout::kChannelsLast},
                                   {Layout::kChannelsLast, Layout::kRowMajor}})
      keep(runtime::conversion_signature(graph.tensor(id).type, from, to), 2);
  for (const double last_us : {9.0, 1.0}) {
    for (const runtime::Launch& launch : launches) {
      const auto ways = layout_ways(graph, launch);
      ASSERT_EQ(ways.size(), 2u);
      keep(runtime::launch_signature(graph, launch, ways[0]), 5);
      keep(runtime::launch_signature(graph, launch, ways[1]), last_us);
    }
    EXPECT_EQ(cost::recall_kernels(*backend_, graph, Fusion::kFull, *database_), 2u);
    const auto plan = runtime::plan_execution(graph, *backend_, Fusion::kFull);
    // Channels last are worth the conversions of both inputs and of the result.
    EXPECT_EQ(plan.conversions.size(), last_us == 1 ? 3u : 0u);
    for (std::size_t k = 0; k < plan.launches.size(); ++k)
      EXPECT_EQ(plan.layouts[k].outputs[0],
                last_us == 1 ? Layout::kChannelsLast : Layout::kRowMajor);
  }
  runtime::test::expect_right(graph, *backend_, Fusion::kFull);
}

}  // namespace
}  // namespace soapstone::gpu
