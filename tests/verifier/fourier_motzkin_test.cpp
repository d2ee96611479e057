#include "verifier/integers/fourier_motzkin.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace soapstone::verifier {
namespace {

const Symbol kX{0};
const Symbol kY{1};

TEST(FourierMotzkin, FindsContradictions) {
  EXPECT_EQ(fourier_motzkin(std::vector<Fact>{at_least(kX, 3), less(kX, 3)}),
            Feasibility::kImpossible);
  EXPECT_EQ(fourier_motzkin(std::vector<Fact>{equal(Linear(kX).scaled(2), 5)}),
            Feasibility::kImpossible);
  EXPECT_EQ(fourier_motzkin(std::vector<Fact>{less(kX, kY), less(kY, Linear(kX) + 1)}),
            Feasibility::kImpossible);
}

TEST(FourierMotzkin, LeavesThePossibleAlone) {
  EXPECT_EQ(fourier_motzkin(std::vector<Fact>{at_least(kX, 3), less(kX, 4)}),
            Feasibility::kPossible);
  EXPECT_EQ(fourier_motzkin(std::vector<Fact>{}), Feasibility::kPossible);
}

/// A system that elimination calls impossible has no solution in a box. If elimination were wrong
/// about small systems, there would be one.
TEST(FourierMotzkin, NeverRefutesASystemWithASolution) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int impossible = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Fact> facts;
    for (int k = pick(2, 5); k > 0; --k) {
      const Linear e =
          Linear(kX).scaled(pick(-3, 3)) + Linear(kY).scaled(pick(-3, 3)) + pick(-4, 4);
      facts.push_back(pick(0, 4) == 0 ? equal(e, 0) : at_least(e, 0));
    }
    if (fourier_motzkin(facts) != Feasibility::kImpossible) continue;
    ++impossible;
    for (int x = -20; x <= 20; ++x) {
      for (int y = -20; y <= 20; ++y) {
        bool all = true;
        for (const Fact& fact : facts) {
          const auto value = fact.expression.evaluate({{kX, x}, {kY, y}});
          all = all && (fact.kind == Fact::Kind::kZero ? value == 0 : value >= 0);
        }
        ASSERT_FALSE(all) << "x = " << x << ", y = " << y;
      }
    }
  }
  EXPECT_GT(impossible, 100);
}

}  // namespace
}  // namespace soapstone::verifier
