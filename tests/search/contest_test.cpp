// Which way of searching wins a family of regions, and when a contest goes deep.
#include "search/passes/contest.h"

#include <gtest/gtest.h>

#include "tests/support/graphs.h"

namespace soapstone::search {
namespace {

/// Regions of one family differ in their signatures alone.
Region region_of(std::string_view op, std::uint64_t signature) {
  Region region;
  region.graph = graph_of("graph r\n  x: f32[4]\n  y = " + std::string(op) + "(x)\n  return y\n");
  region.signature = {signature};
  return region;
}

RegionResult gain(double us, RegionStop stop) {
  RegionResult result;
  result.cost_before_us = 100;
  result.cost_after_us = 100 - us;
  result.stop = stop;
  return result;
}

constexpr RegionStop kEnded = RegionStop::kExhausted, kCutOff = RegionStop::kBudget,
                     kImpatient = RegionStop::kPatience;

TEST(Contest, WhoFindsMoreWinsTheFamily) {
  Contest contest;
  const Region one = region_of("relu", 1), other = region_of("relu", 2), far = region_of("exp", 3);
  contest.judge(one, gain(10, kImpatient), gain(12, kCutOff));
  contest.judge(far, gain(10, kImpatient), gain(10, kCutOff));
  EXPECT_TRUE(contest.prefers_saturation(other));
  EXPECT_FALSE(contest.prefers_saturation(far)) << "moves find the same with less work";
  EXPECT_TRUE(contest.is_won_by_saturation());
  EXPECT_TRUE(contest.trials({one, other, far}).empty()) << "both are decided";
}

TEST(Contest, CloseFamiliesAreTriedAFewTimes) {
  Contest contest;
  std::vector<Region> regions;
  for (std::uint64_t k = 0; k < 8; ++k) regions.push_back(region_of("relu", k));
  int trials = 0;
  for (auto next = contest.trials(regions); !next.empty(); next = contest.trials(regions)) {
    ASSERT_EQ(next.size(), 1u) << "one of each family at a time";
    contest.judge(*next[0], gain(10, kImpatient), gain(8, kCutOff));
    ++trials;
  }
  EXPECT_EQ(trials, 4);
}

TEST(Contest, GoesDeepWhereMovesAreStuck) {
  Contest contest;
  const Region region = region_of("relu", 1);
  contest.judge(region, gain(10, kEnded), gain(8, kCutOff));
  EXPECT_FALSE(contest.is_won_by_saturation());
  EXPECT_TRUE(contest.deepen());
  EXPECT_TRUE(contest.is_deep());
  EXPECT_EQ(contest.trials({region}).size(), 1u) << "it begins anew";
  contest.judge(region, gain(10, kEnded), gain(9, kCutOff));
  EXPECT_TRUE(contest.prefers_saturation(region)) << "though it found less";
  EXPECT_FALSE(contest.deepen()) << "deeper it cannot go";
}

TEST(Contest, StaysShallowElsewhere) {
  for (const auto& [moves, saturation] :
       {std::pair(gain(10, kImpatient), gain(8, kCutOff)),  // moves may find more
        std::pair(gain(10, kEnded), gain(8, kEnded)),       // there is no more
        std::pair(gain(10, kEnded), gain(1, kCutOff)),      // hopeless
        std::pair(gain(0, kEnded), gain(0, kCutOff))}) {    // nothing to gain
    Contest contest;
    contest.judge(region_of("relu", 1), moves, saturation);
    EXPECT_FALSE(contest.deepen());
    contest.judge(region_of("exp", 2), gain(10, kEnded), gain(8, kCutOff));
    EXPECT_FALSE(contest.deepen()) << "the original has decided";
  }
}

}  // namespace
}  // namespace soapstone::search
