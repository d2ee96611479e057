// Estimates beside measurements of the same device, from files of costs made for these tests: they
// are scaled as launches like them took, so that none wins for being too low.
#include "cost/models/estimate_scale.h"

#include <gtest/gtest.h>

#include "cost/models/measured_cost.h"
#include "runtime/execution/executor.h"
#include "tests/support/graphs.h"

namespace soapstone::cost {
namespace {

using core::Graph;

constexpr const char* kDevice = "card";

Graph scaled_graph(const std::string& body) { return graph_of("graph g\n" + body); }

Graph product_of(std::int64_t n) {
  const std::string dims = "[" + std::to_string(n) + ", " + std::to_string(n) + "]";
  return scaled_graph("  x: f32" + dims + "\n  w: f32" + dims +
                      "\n  y = matmul(x, w)\n  return y\n");
}

Graph sigmoid_of(std::int64_t n) {
  return scaled_graph("  x: f32[" + std::to_string(n) + "]\n  y = sigmoid(x)\n  return y\n");
}

class EstimateScaleTest : public testing::Test {
 protected:
  /// A microsecond a kilobyte: whatever the device is, that is not how long it takes.
  static double estimated_us(const Graph& graph, const runtime::Launch& launch) {
    return launch_work(graph, launch).bytes / 1e3;
  }
  static DeviceEstimates estimates() {
    return {estimated_us, [](double bytes) { return bytes / 1e3; }};
  }
  runtime::Launch only_launch(const Graph& graph) const {
    const auto plan = runtime::plan_launches(graph, backend_->fusion(runtime::Fusion::kFull));
    EXPECT_EQ(plan.launches.size(), 1u);
    return plan.launches.at(0);
  }
  /// Puts into the file that the graph's only launch takes so many times its estimate.
  void measure(const Graph& graph, double times) {
    const runtime::Launch launch = only_launch(graph);
    ASSERT_TRUE(database_
                    ->store(kDevice, runtime::launch_signature(graph, launch),
                            {times * estimated_us(graph, launch), 0, 3, "kernel"})
                    .ok());
  }
  std::unique_ptr<CostModel> costs() {
    return make_recorded_cost(*backend_, runtime::Fusion::kFull, database_.get(), kDevice,
                              estimates());
  }
  double times_estimated(const Graph& graph) {
    return costs()->graph_cost(graph).total_us / estimated_us(graph, only_launch(graph));
  }

  std::unique_ptr<runtime::Backend> backend_ = runtime::make_reference_backend();
  std::unique_ptr<CostDatabase> database_ = *CostDatabase::in_memory();
};

TEST_F(EstimateScaleTest, WithoutMeasurementsEstimatesStand) {
  EXPECT_NEAR(times_estimated(product_of(64)), 1, 1e-5);
}

TEST_F(EstimateScaleTest, FollowsLaunchesOfTheSameKind) {
  measure(product_of(64), 10);
  measure(sigmoid_of(4096), 2);
  EXPECT_NEAR(times_estimated(product_of(128)), 10, 1e-4);
  EXPECT_NEAR(times_estimated(sigmoid_of(8192)), 2, 1e-4);
}

TEST_F(EstimateScaleTest, FollowsTheNearestOfThem) {
  for (const std::int64_t n : {8, 10, 12}) measure(product_of(n), 40);
  for (const std::int64_t n : {500, 512, 600}) measure(product_of(n), 3);
  EXPECT_NEAR(times_estimated(product_of(9)), 40, 1e-3);
  EXPECT_NEAR(times_estimated(product_of(520)), 3, 1e-4);
}

TEST_F(EstimateScaleTest, OneThatTookUnusuallyLongDecidesNothing) {
  measure(product_of(60), 5);
  measure(product_of(64), 1000);
  measure(product_of(68), 6);
  EXPECT_NEAR(times_estimated(product_of(65)), 6, 1e-4);
}

TEST_F(EstimateScaleTest, OtherKindsFollowWhatIsNearestOfAll) {
  measure(product_of(512), 7);
  const Graph graph = scaled_graph("  x: f32[64, 64]\n  y = softmax(x; axis=1)\n  return y\n");
  EXPECT_NEAR(times_estimated(graph), std::max(7.0, 7 * 3 * 512 * 512 / (2.0 * 64 * 64)), 1e-2);
}

TEST_F(EstimateScaleTest, NothingTakesLessThanTheLeastThatWasMeasured) {
  measure(sigmoid_of(4096), 1);
  const double least_us = 2 * 4 * 4096 / 1e3;
  EXPECT_NEAR(costs()->graph_cost(sigmoid_of(16)).total_us, least_us, 1e-5);
  EXPECT_GT(costs()->graph_cost(sigmoid_of(8192)).total_us, least_us);
}

/// Two products in place of one that was measured to be slow: they stay slow.
TEST_F(EstimateScaleTest, WhatNobodyMeasuredDoesNotWin) {
  measure(product_of(256), 50);
  const Graph parts = scaled_graph(
      "  x: f32[256, 256]\n  v: f32[256, 128]\n  w: f32[256, 128]\n  y = matmul(x, v)\n"
      "  z = matmul(x, w)\n  return y, z\n");
  const auto model = costs();
  EXPECT_GT(model->graph_cost(parts).total_us, model->graph_cost(product_of(256)).total_us);
  EXPECT_EQ(model->graph_cost(parts).estimated_share(), 1);
}

TEST_F(EstimateScaleTest, DoesNotDependOnWhatWasAskedForBefore) {
  for (const std::int64_t n : {16, 64, 256}) measure(product_of(n), static_cast<double>(n));
  const auto one = costs(), other = costs();
  const Graph a = product_of(32), b = product_of(128);
  const double first = one->graph_cost(a).total_us, second = one->graph_cost(b).total_us;
  EXPECT_EQ(other->graph_cost(b).total_us, second);
  EXPECT_EQ(other->graph_cost(a).total_us, first);
}

TEST_F(EstimateScaleTest, IsReported) {
  measure(product_of(64), 10);
  EXPECT_EQ(costs()->breakdown(product_of(128)).at(0).implementation,
            "estimate: no cost of it was recorded; times 10, as measured of 1 like it");
}

}  // namespace
}  // namespace soapstone::cost
