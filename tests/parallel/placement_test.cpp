// Searches between the best placement and the bound, on small problems; and the published setting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "parallel/placement/bound.h"
#include "parallel/placement/exact.h"
#include "parallel/placement/search.h"
#include "parallel/simulation/timeline.h"
#include "tests/parallel/published/published_setting.h"
#include "tests/parallel/random_problem.h"

namespace soapstone::parallel {
namespace {

PlacementSearchOptions short_search(std::uint64_t seed) {
  PlacementSearchOptions options;
  options.seed = seed;
  options.chains = 1;
  options.proposals = 3000;
  return options;
}

TEST(Placement, SearchLiesAboveTheBestAndTheBestAboveTheBound) {
  std::mt19937 random(11);
  int compared = 0, found = 0, tight = 0;
  while (compared < 500) {
    const std::size_t shapes = random() % 3;
    const RandomProblemSize size = shapes == 0   ? RandomProblemSize{1, 2, 5, 2, 1}
                                   : shapes == 1 ? RandomProblemSize{2, 1, 3, 2, 2}
                                                 : RandomProblemSize{1, 3, 3, 2, 1};
    const PlacementProblem problem = random_problem(random, size);
    const auto best = exact_placement(problem, 2'000'000);
    ASSERT_TRUE(best);
    if (best->time == std::numeric_limits<Ticks>::max()) continue;  // Nothing fits in memory.
    ++compared;
    const auto searched = search_placement(problem, best->placement, short_search(compared));
    ASSERT_EQ(searched.time, best->time);  // Nothing is better than the best.
    Placement start = random_placement(random, problem);
    if (Simulator(problem).full(start) == std::numeric_limits<Ticks>::max())
      start = best->placement;
    const auto result = search_placement(problem, start, short_search(compared));
    ASSERT_GE(result.time, best->time);
    ASSERT_EQ(result.time, Simulator(problem).full(result.placement));
    found += result.time == best->time ? 1 : 0;
    const PlacementBound bound = placement_bound(problem, {60, 20, 10});
    ASSERT_LE(bound.time, best->time) << bound.binding;
    const PlacementBound relaxed = placement_bound(problem, {60, 20, 0});
    ASSERT_LE(relaxed.time, bound.time);
    tight += static_cast<double>(bound.time) > 0.8 * static_cast<double>(best->time) ? 1 : 0;
  }
  EXPECT_GT(found, 440);
  EXPECT_GT(tight, 250);
}

TEST(Placement, DependsOnTheSeedAndNotOnThreads) {
  std::mt19937 random(5);
  const PlacementProblem problem = random_problem(random, {2, 4, 30, 8, 2});
  Placement start = random_placement(random, problem);
  while (Simulator(problem).full(start) == std::numeric_limits<Ticks>::max())
    start = random_placement(random, problem);
  PlacementSearchOptions options;
  options.proposals = 20'000;
  const auto once = search_placement(problem, start, options);
  for (const int threads : {1, 2, 5}) {
    options.threads = threads;
    const auto again = search_placement(problem, start, options);
    EXPECT_EQ(again.time, once.time);
    EXPECT_EQ(again.placement, once.placement);
    EXPECT_EQ(again.proposals, once.proposals);
  }
  options.seed = 2;
  EXPECT_NE(search_placement(problem, start, options).placement, once.placement);
  EXPECT_LT(once.time, Simulator(problem).full(start));
}

struct PublishedTime {
  const char* network;
  std::size_t devices;
  double data_parallel_ms;
};

class PublishedSetting : public testing::TestWithParam<PublishedTime> {};

TEST_P(PublishedSetting, TakesThePublishedSimulatorsTimes) {
  const PlacementProblem problem = published_problem(GetParam().network, GetParam().devices);
  const Placement placement = spread_placement(problem);
  const Ticks time = Simulator(problem).full(placement);
  EXPECT_NEAR(to_us(time) / 1000, GetParam().data_parallel_ms, 0.001 * GetParam().data_parallel_ms);
  EXPECT_EQ(simulate(problem, placement, {}).end, time);
}

// Measured with FlexFlow's simulator on the same times.
INSTANTIATE_TEST_SUITE_P(
    DataParallel, PublishedSetting,
    testing::Values(PublishedTime{"nmt", 4, 646.2}, PublishedTime{"nmt", 8, 1181},
                    PublishedTime{"nmt", 16, 2250}, PublishedTime{"alexnet", 4, 226.2},
                    PublishedTime{"alexnet", 16, 925.2}, PublishedTime{"inception_v3", 4, 482.6},
                    PublishedTime{"inception_v3", 16, 731.5}, PublishedTime{"resnet_101", 4, 671.4},
                    PublishedTime{"resnet_101", 16, 1124.9}));

TEST(Placement, BeatsThePublishedSearchOnTranslation) {
  const PlacementProblem problem = published_problem("nmt", 4);
  PlacementSearchOptions options;
  options.chains = 1;
  options.proposals = 100'000;
  const auto result = search_placement(problem, spread_placement(problem), options);
  EXPECT_LT(to_us(result.time) / 1000, 303);  // The best of three runs of 250,000 proposals.
  const PlacementBound bound = placement_bound(problem, {});
  EXPECT_LE(bound.time, result.time);
  EXPECT_THAT(bound.binding, testing::HasSubstr("ms for weights"));
}

}  // namespace
}  // namespace soapstone::parallel
