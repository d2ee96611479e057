// Which facts contradict each other.
#include "verifier/integers/farkas.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "verifier/integers/fourier_motzkin.h"

namespace soapstone::verifier {
namespace {

const Linear kX{Symbol{0}}, kY{Symbol{1}}, kZ{Symbol{2}}, kOne{Symbol{3}};

TEST(Farkas, FindsTheFactsThatContradictEachOther) {
  const std::vector<Fact> facts{at_least(kOne, 1), at_least(kX, kY), at_least(kY, kZ),
                                at_least(kZ, kX + kOne), at_least(kX, 0)};
  const std::vector<Fact> part = contradictory_part(facts);
  ASSERT_EQ(part.size(), 4U);
  EXPECT_EQ(fourier_motzkin(part), Feasibility::kImpossible);
  EXPECT_EQ(std::count(part.begin(), part.end(), facts[4]), 0) << "it is not needed";
}

TEST(Farkas, FindsNothingWhereThereIsASolution) {
  EXPECT_TRUE(contradictory_part(std::vector<Fact>{}).empty());
  const std::vector<Fact> facts{at_least(kOne, 1), at_least(kX, kY), at_least(kY, kZ),
                                at_least(kZ, kX)};
  EXPECT_TRUE(contradictory_part(facts).empty());
}

TEST(Farkas, EquationsCountFromBothSides) {
  const std::vector<Fact> facts{equal(kX, kY + 1), at_least(kY, kX)};
  EXPECT_EQ(contradictory_part(facts).size(), 2U);
  const std::vector<Fact> other{equal(kX, kY - 1), at_least(kX, kY)};
  EXPECT_EQ(contradictory_part(other).size(), 2U);
}

TEST(Farkas, ProductsAreUnknownsOfTheirOwn) {
  const std::vector<Fact> facts{at_least(kX * kY, 1), at_least(kX, 0), at_least(0, kY)};
  EXPECT_TRUE(contradictory_part(facts).empty());
}

}  // namespace
}  // namespace soapstone::verifier
