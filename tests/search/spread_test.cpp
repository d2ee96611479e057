// How far NaN and infinities reach: what was finite stays finite, wherever in the batch, among the
// channels or among the places it stands.
#include "search/equivalence/spread.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/launches/backend.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

/// Whether NaN and infinities reach more with these lines than with `y = relu(x)`, where `rest`
/// comes behind both.
bool spreads(const std::string& lines, const std::string& rest = "  return y\n") {
  const std::string head = "graph g\n  x: f32[3, 4, 5]\n  zero: f32[] = {0}\n";
  const core::Graph original = graph_of(head + "  y = relu(x)\n" + rest);
  const core::Graph other = graph_of(head + lines + rest);
  const auto backend = runtime::make_reference_backend();
  SpreadCheck check = SpreadCheck::make(original, *backend, 0).value();
  EXPECT_FALSE(check.run(original, {}).value().has_value());
  const auto difference = check.run(other, {}).value();
  if (difference) {
    EXPECT_TRUE(check.differs_on(other, difference->sample).value());
    EXPECT_FALSE(check.differs_on(original, difference->sample).value());
  }
  return difference.has_value();
}

/// y with 0 times the sum over a dimension.
std::string with_zeros_along(int axis) {
  return "  r = relu(x)\n  o = mul(r, zero)\n  s = reduce_sum(o; axes=[" + std::to_string(axis) +
         "], keep_dims=1)\n  y = add(r, s)\n";
}

TEST(SpreadCheck, ZerosTimesOthersReachEverything) {
  for (const int axis : {0, 1, 2}) EXPECT_TRUE(spreads(with_zeros_along(axis))) << axis;
}

TEST(SpreadCheck, WhatStaysInItsPlaceDoesNotSpread) {
  EXPECT_FALSE(spreads("  t = relu(x)\n  y = relu(t)\n"));
  EXPECT_FALSE(spreads("  t = transpose(x; perm=[2, 0, 1])\n  r = relu(t)\n"
                       "  y = transpose(r; perm=[1, 2, 0])\n"));
}

TEST(SpreadCheck, WhatReachesAllInTheOriginalMaySpreadOnItsWay) {
  const std::string sum = "  t = reduce_sum(y; axes=[1, 2], keep_dims=1)\n  return t\n";
  EXPECT_FALSE(spreads(with_zeros_along(1), sum));
  EXPECT_TRUE(spreads(with_zeros_along(0), sum)) << "from one item of the batch to the others";
}

TEST(SpreadCheck, ModelsWithoutRealInputsHaveNoTrials) {
  const core::Graph graph = graph_of("graph g\n  x: i64[4]\n  y = add(x, x)\n  return y\n");
  const auto backend = runtime::make_reference_backend();
  EXPECT_FALSE(SpreadCheck::make(graph, *backend, 0).value().run(graph, {}).value().has_value());
}

}  // namespace
}  // namespace soapstone::search
