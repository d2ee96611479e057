// Links between virtual ranks are measured, and become a topology that says so.
#include "jobs/links/measure_links.h"

#include <gtest/gtest.h>

#include <set>

#include "parallel/topology/collectives.h"
#include "parallel/topology/topology_json.h"

namespace soapstone::jobs {
namespace {

using parallel::Collective;

TEST(MeasureLinks, TimesAllOperationsInAllGroups) {
  const auto outcome = measure_virtual_links({.largest_bytes = 4096, .time_s = 0.4, .ranks = 4});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->ranks, 4);
  EXPECT_EQ(outcome->links.size(), 6U) << "of any two ranks";
  std::set<std::pair<Collective, std::int64_t>> measured;
  for (const parallel::MeasuredCollective& one : outcome->collectives) {
    EXPECT_TRUE(measured.emplace(one.collective, one.devices).second);
    ASSERT_EQ(one.times.size(), 10U);
    EXPECT_EQ(one.times.front().first, 8);
    EXPECT_EQ(one.times.back().first, 4096);
    for (std::size_t k = 1; k < one.times.size(); ++k)
      EXPECT_LE(one.times[k - 1].second, one.times[k].second);
  }
  EXPECT_EQ(measured.size(), 1U + 2 * 5) << "messages, and five operations of 2 and of 4 ranks";
  for (const ComputeRate& rate : {outcome->compute.flops_per_s, outcome->compute.bytes_per_s}) {
    EXPECT_GT(rate.alone, 0);
    EXPECT_GT(rate.together, 0);
    EXPECT_GE(rate.slowdown(), 1);
  }
}

TEST(MeasureLinks, MakeATopology) {
  LinkOutcome outcome{2, {{0, 1, 3, 1e9}, {0, 2, 5, 2e9}}, {}, {}, false};
  outcome.ranks = 3;
  outcome.collectives = {{Collective::kAllReduce, 3, {{8, 7}}}};
  outcome.compute = {{8e10, 4e10}, {1e10, 2e10}};
  const auto topology = topology_of(outcome);
  ASSERT_TRUE(topology) << topology.error().to_string();
  EXPECT_EQ(topology->name(), "local");
  EXPECT_EQ(topology->device_count(), 3U);
  EXPECT_DOUBLE_EQ(topology->levels()[0].latency_us, 5) << "the slowest link";
  EXPECT_DOUBLE_EQ(topology->levels()[0].bytes_per_s, 1e9);
  const auto again = parallel::topology_from_json(parallel::topology_to_json(*topology));
  ASSERT_TRUE(again) << again.error().to_string();
  const parallel::DeviceKind& kind = again->kinds()[0];
  EXPECT_DOUBLE_EQ(kind.flops_per_s.at(core::DataType::kFloat32), 4e10);
  EXPECT_DOUBLE_EQ(kind.contraction_slowdown, 2);
  EXPECT_DOUBLE_EQ(kind.other_slowdown, 1) << "less is chance";
  EXPECT_DOUBLE_EQ(
      parallel::best_collective(Collective::kAllReduce, parallel::shape_of_axis(*again, 1, 3), 8)
          .us,
      7);
}

TEST(MeasureLinks, AreOfOneMachineAndSeveralRanks) {
  const LinkOutcome outcome{4, {{0, 1, 3, 1e9}}, {}, {{1, 1}, {1, 1}}, false};
  const auto apart = topology_of(outcome, {.rank = 0, .ranks = 4, .ranks_on_node = 2});
  ASSERT_FALSE(apart);
  EXPECT_EQ(apart.error().code, core::ErrorCode::kUnsupported);
  for (const LinkRequest& request :
       {LinkRequest{.ranks = 1}, LinkRequest{.largest_bytes = 4}, LinkRequest{.time_s = 0}})
    EXPECT_EQ(measure_virtual_links(request).error().code, core::ErrorCode::kUsage);
}

TEST(MeasureLinks, StopWhenTheyAreTold) {
  core::StopToken stop;
  stop.request_stop();
  const Context context{.stop = stop};
  const auto outcome = measure_virtual_links({.largest_bytes = 64, .time_s = 0.1}, context);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace soapstone::jobs
