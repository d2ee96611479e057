// Regions that are searched before they are asked for.
#include "search/passes/ahead.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/graphs.h"

namespace soapstone::search {
namespace {

Region lone_region(const char* op, std::uint64_t signature) {
  Region region;
  region.graph = graph_of(std::string("graph region\nx: f32[2, 3]\ny = ") + op + "(x)\nreturn y\n");
  region.signature = {signature};
  return region;
}

constexpr Way kWay{.limit = 7};

RegionResult found_in(const Region& region, const Way& way) {
  RegionResult result;
  result.expanded = way.limit + region.signature[0];
  return result;
}

TEST(Ahead, HasWhatWasSearchedOnce) {
  Ahead ahead(found_in);
  EXPECT_FALSE(ahead.work());
  ahead.expect([] { return std::vector{lone_region("relu", 1), lone_region("tanh", 2)}; }, kWay);
  // Nobody has looked at the regions, then nobody has searched any.
  EXPECT_FALSE(ahead.take(lone_region("relu", 1), kWay));
  EXPECT_TRUE(ahead.work());
  EXPECT_FALSE(ahead.take(lone_region("tanh", 2), kWay)) << "the caller searches it";
  EXPECT_TRUE(ahead.work());
  EXPECT_FALSE(ahead.work());
  EXPECT_FALSE(ahead.take(lone_region("relu", 1), Way{.limit = 8}));
  const auto found = ahead.take(lone_region("relu", 1), kWay);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->expanded, 8U);
  EXPECT_FALSE(ahead.take(lone_region("relu", 1), kWay));
}

/// Signatures leave out the values of weights, on which a result may depend.
TEST(Ahead, HasNothingForAnotherGraph) {
  Ahead ahead(found_in);
  ahead.expect([] { return std::vector{lone_region("relu", 1)}; }, kWay);
  while (ahead.work()) {
  }
  EXPECT_FALSE(ahead.take(lone_region("tanh", 1), kWay));
}

TEST(Ahead, LeavesFailuresToWhoAsks) {
  Ahead ahead([](const Region&, const Way&) -> RegionResult { throw std::bad_alloc(); });
  ahead.expect([]() -> std::vector<Region> { throw std::bad_alloc(); }, kWay);
  ahead.expect([] { return std::vector{lone_region("relu", 1)}; }, kWay);
  while (ahead.work()) {
  }
  EXPECT_FALSE(ahead.take(lone_region("relu", 1), kWay));
}

}  // namespace
}  // namespace soapstone::search
