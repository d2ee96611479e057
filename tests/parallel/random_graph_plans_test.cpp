// Random plans of random graphs, for inference and for training: what nobody thought of.
#include <gtest/gtest.h>

#include "parallel/lowering/plan_check.h"
#include "tests/parallel/random_networks.h"

namespace soapstone::parallel {
namespace {

class RandomGraphPlan : public testing::TestWithParam<Purpose> {};

TEST_P(RandomGraphPlan, ComputesTheGraph) {
  int equal = 0;
  const int plans = random_plans(25);
  for (int seed = 0; seed < plans; ++seed) {
    const PlannedNetwork net = random_network(static_cast<unsigned>(seed));
    RandomCuts random(net, static_cast<std::uint64_t>(seed));
    const auto run = random_run(net, random, random.draw(2), GetParam());
    if (!run && run.error().code == core::ErrorCode::kUnsupported) continue;
    ASSERT_TRUE(run.ok()) << "plan " << seed << ": " << run.error().to_string();
    EXPECT_TRUE(check_exchanges(run->programs).ok());
    const auto difference = check_programs(run->graph, run->programs, 1);
    ASSERT_TRUE(difference.ok()) << "plan " << seed << ": " << difference.error().to_string();
    ASSERT_FALSE(*difference) << "plan " << seed << ": rank " << (*difference)->rank;
    ++equal;
  }
  EXPECT_GT(equal, plans / 3);
  RecordProperty("equal", equal);
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphPlan,
                         testing::Values(Purpose::kInference, Purpose::kTraining),
                         [](const auto& test) {
                           return test.param == Purpose::kTraining ? "training" : "inference";
                         });

}  // namespace
}  // namespace soapstone::parallel
