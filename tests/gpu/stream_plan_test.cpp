// Calls run side by side only if they do not touch each other's bytes.
#include "gpu/device/stream_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace soapstone::gpu {
namespace {

using runtime::DeviceAddress;
using runtime::KernelCall;

/// A call that reads and writes so many bytes at these places.
KernelCall call_at(std::vector<std::uint64_t> reads, std::vector<std::uint64_t> writes,
                   std::size_t bytes = 64) {
  KernelCall call;
  for (const std::uint64_t at : reads) call.inputs.emplace_back(at);
  for (const std::uint64_t at : writes) call.outputs.emplace_back(at);
  call.input_bytes.assign(reads.size(), bytes);
  call.output_bytes.assign(writes.size(), bytes);
  return call;
}

TEST(StreamPlan, KeepsChainsInOneStream) {
  const std::vector calls{call_at({64}, {128}), call_at({128}, {192}), call_at({192}, {64})};
  const StreamPlan plan = plan_streams(calls, 4);
  EXPECT_EQ(plan.streams, 1u);
  for (const auto& step : plan.steps) EXPECT_TRUE(step.waits.empty());
}

TEST(StreamPlan, RunsBranchesSideBySide) {
  const std::vector calls{call_at({64}, {128}), call_at({128}, {192}), call_at({128}, {256}),
                          call_at({192, 256}, {320})};
  const StreamPlan plan = plan_streams(calls, 4);
  EXPECT_EQ(plan.streams, 2u);
  EXPECT_NE(plan.steps[1].stream, plan.steps[2].stream);
  EXPECT_EQ(plan.steps[2].waits, std::vector<std::size_t>{0});
  EXPECT_EQ(plan.steps[3].waits.size(), 1u);
}

/// Bytes that are used again: the second writer waits for the first one's readers.
TEST(StreamPlan, SeesBytesThatAreUsedAgain) {
  const std::vector calls{call_at({1024}, {128}), call_at({128}, {192}), call_at({2048}, {160})};
  const StreamPlan plan = plan_streams(calls, 4);
  const auto& step = plan.steps[2];
  EXPECT_TRUE(step.stream == plan.steps[1].stream || step.waits == std::vector<std::size_t>{1});
  EXPECT_EQ(plan_streams(std::vector{calls[0], calls[2]}, 4).streams, 1u);
}

TEST(StreamPlan, WaitsWhereNobodySaidHowLargeTensorsAre) {
  std::vector calls{call_at({64}, {128}), call_at({1024}, {2048})};
  EXPECT_EQ(plan_streams(calls, 4).streams, 2u);
  calls[1].input_bytes.clear();
  EXPECT_EQ(plan_streams(calls, 4).streams, 1u);
}

/// In any order that the streams and waits admit, conflicting calls keep theirs.
TEST(StreamPlan, KeepsAllConflictsInOrder) {
  std::mt19937 random(7);
  const auto place = [&] { return 64 * (1 + random() % 12); };
  for (int round = 0; round < 50; ++round) {
    std::vector<KernelCall> calls;
    for (int k = 0; k < 20; ++k) calls.push_back(call_at({place(), place()}, {place()}));
    const StreamPlan plan = plan_streams(calls, 1 + random() % 4);
    std::vector<std::vector<bool>> before(calls.size(), std::vector<bool>(calls.size()));
    for (std::size_t k = 0; k < calls.size(); ++k) {
      std::vector<std::size_t> direct = plan.steps[k].waits;
      for (std::size_t j = 0; j < k; ++j)
        if (plan.steps[j].stream == plan.steps[k].stream) direct.push_back(j);
      for (const std::size_t j : direct) {
        before[k][j] = true;
        for (std::size_t i = 0; i < j; ++i) before[k][i] = before[k][i] || before[j][i];
      }
      const auto touches = [&](const auto& a, const auto& b) {
        return std::ranges::find_first_of(a, b) != a.end();
      };
      for (std::size_t j = 0; j < k; ++j) {
        const bool conflict = touches(calls[j].outputs, calls[k].inputs) ||
                              touches(calls[j].outputs, calls[k].outputs) ||
                              touches(calls[j].inputs, calls[k].outputs);
        EXPECT_TRUE(!conflict || before[k][j]) << round << ": " << j << " and " << k;
      }
    }
  }
}

}  // namespace
}  // namespace soapstone::gpu
