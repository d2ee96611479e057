// Which equations between indices are solved, and what is left of the ranges of the variables.
#include "ops/gradients/elimination.h"

#include <gtest/gtest.h>

namespace soapstone::ops {
namespace {

const Symbol kOuter = Symbol::index(0), kH = Symbol::index(1), kR = Symbol::index(2);

struct Solved {
  IndexDomain domain;
  Substitution values;
};

/// Solves an equation = 0 between h, r and y, all of which begin at 0.
Solved solve(const Polynomial& equation, const Polynomial& h, const Polynomial& r,
             const Polynomial& y) {
  Solved solved{{{{kH, 0, h}, {kR, 0, r}}, {equal(equation, 0)}}, {}};
  const Binder around{kOuter, 0, y};
  solved.values = eliminate(solved.domain, std::span(&around, 1));
  return solved;
}

TEST(Elimination, SolvesForTheLongest) {
  const auto solved = solve(Polynomial(kH) + Polynomial(kR) - 1 - Polynomial(kOuter), 8, 3, 8);
  ASSERT_EQ(solved.values.size(), 1u);
  EXPECT_EQ(solved.values.at(kH), Polynomial(kOuter) + 1 - Polynomial(kR));
  EXPECT_EQ(solved.domain.binders.size(), 1u);
  EXPECT_EQ(solved.domain.constraints.size(), 2u);  // h is within 0 … 7 at the border, too
}

TEST(Elimination, DropsBoundsThatPlainlyHold) {
  const auto solved = solve(Polynomial(kH) - Polynomial(kOuter), 8, 3, 8);
  EXPECT_EQ(solved.values.at(kH), Polynomial(kOuter));
  EXPECT_TRUE(solved.domain.constraints.empty());
  const Polynomial n = Symbol{0};
  EXPECT_TRUE(solve(Polynomial(kH) - Polynomial(kOuter), n, 3, n).domain.constraints.empty());
  EXPECT_EQ(solve(Polynomial(kH) - Polynomial(kOuter), 7, 3, 8).domain.constraints.size(), 1u);
}

TEST(Elimination, LeavesStridesAndMinorDigits) {
  EXPECT_TRUE(
      solve(Polynomial(kH) * 2 + Polynomial(kR) - Polynomial(kOuter), 8, 3, 17).values.empty());
  EXPECT_TRUE(
      solve(Polynomial(kR) * 8 + Polynomial(kH) - Polynomial(kOuter), 8, 3, 24).values.empty());
  // But a dilation is none: each element of the kernel has its position.
  EXPECT_EQ(solve(Polynomial(kR) * 2 + Polynomial(kH) - Polynomial(kOuter), 8, 3, 12).values.size(),
            1u);
}

TEST(Elimination, DividesByCommonFactors) {
  const auto solved = solve(Polynomial(kH) * 2 - Polynomial(kOuter) * 2 + 4, 8, 3, 8);
  EXPECT_EQ(solved.values.at(kH), Polynomial(kOuter) - 2);
}

TEST(Elimination, ReplacesPoints) {
  const auto solved = solve(Polynomial(kH) + Polynomial(kR) - Polynomial(kOuter), 8, 1, 8);
  EXPECT_EQ(solved.values.at(kH), Polynomial(kOuter));
  EXPECT_EQ(solved.values.at(kR), Polynomial(0));
  EXPECT_TRUE(solved.domain.binders.empty());
}

}  // namespace
}  // namespace soapstone::ops
