// Timing asks the device for its memory, its queues and its clock: on a device whose clock advances
// by the same amount for each kernel, and whose memory is not the host's, all times are exact.
#include <gtest/gtest.h>

#include "cost/models/measured_cost.h"
#include "cost/timing/kernel_timing.h"
#include "tests/runtime/remote_backend.h"
#include "tests/support/graphs.h"

namespace soapstone::cost {
namespace {

using runtime::Fusion;
using runtime::test::kRemoteKernelUs;
using runtime::test::RemoteBackend;

const TimingOptions kExact{.min_sample_us = 100, .samples = 3, .max_total_us = 2000};

/// Constants, kernels that write over their input, indices, and channels-last convolutions.
constexpr std::string_view kGraph = R"(graph g
  x: f32[1, 2, 4, 4]
  w: f32[3, 2, 3, 3]
  rows: i64[2]
  c: f32[1] = {0.5}
  y = conv(x, w)
  z = mul(y, c)
  g = gather(z, rows; axis=1)
  s = softmax(g; axis=1)
  return s)";

TEST(DeviceTiming, CostsAreThoseOfTheDevicesClock) {
  RemoteBackend remote;
  auto costs = make_measured_cost(remote, Fusion::kNone, nullptr, kExact);
  const auto items = costs->breakdown(graph_of(kGraph));
  ASSERT_GE(items.size(), 5u);  // four operators, and conversions
  for (const CostModel::Item& item : items) {
    EXPECT_EQ(item.cost.cost_us, kRemoteKernelUs) << item.what;
    EXPECT_EQ(item.cost.spread_us, 0) << item.what;
    EXPECT_FALSE(item.cost.estimated) << item.what << ": " << item.implementation;
  }
  EXPECT_EQ(remote.memory().live_blocks(), 0u);
}

TEST(DeviceTiming, ExecutablesAreComparedByTheDevicesClock) {
  RemoteBackend remote;
  const auto program = [&](std::string_view text) {
    const core::Graph graph = graph_of(text);
    auto made = *runtime::Executable::make(graph, remote);
    EXPECT_TRUE(made.run(runtime::random_inputs(graph, 1)).ok());
    return made;
  };
  auto two = program("graph g\n  x: f32[8]\n  y = exp(x)\n  z = neg(y)\n  return z");
  auto one = program("graph g\n  x: f32[4096]\n  y = exp(x)\n  return y");
  const Comparison comparison = *compare_and_time(two, one, 6, 1e6);
  EXPECT_EQ(comparison.a.median_us, 2 * kRemoteKernelUs);
  EXPECT_EQ(comparison.b.median_us, kRemoteKernelUs);
  EXPECT_EQ(comparison.ratio.low, 2);
  EXPECT_EQ(comparison.ratio.high, 2);
}

TEST(DeviceTiming, TooLittleMemoryMakesAnEstimate) {
  RemoteBackend remote;
  remote.memory().capacity = 63;
  auto costs = make_measured_cost(remote, Fusion::kNone, nullptr, kExact);
  const auto items = costs->breakdown(graph_of("graph g\n  x: f32[16]\n  y = exp(x)\n  return y"));
  ASSERT_EQ(items.size(), 1u);
  EXPECT_TRUE(items[0].cost.estimated);
  EXPECT_EQ(items[0].implementation, "estimate: the remote device is full");
}

}  // namespace
}  // namespace soapstone::cost
