// Finds the facts that contradict each other.
#include "verifier/integers/farkas.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "verifier/integers/fourier_motzkin.h"

namespace soapstone::verifier {
namespace {

const Linear kFormX{Symbol{0}}, kFormY{Symbol{1}}, kFormZ{Symbol{2}}, kFormOne{Symbol{3}};

TEST(Farkas, FindsTheFactsThatContradictEachOther) {
  const std::vector<Fact> facts{at_least(kFormOne, 1), at_least(kFormX, kFormY),
                                at_least(kFormY, kFormZ), at_least(kFormZ, kFormX + kFormOne),
                                at_least(kFormX, 0)};
  const std::vector<Fact> part = contradictory_part(facts);
  ASSERT_EQ(part.size(), 4U);
  EXPECT_EQ(fourier_motzkin(part), Feasibility::kImpossible);
  EXPECT_EQ(std::count(part.begin(), part.end(), facts[4]), 0) << "it is not needed";
}

TEST(Farkas, FindsNothingWhereThereIsASolution) {
  EXPECT_TRUE(contradictory_part(std::vector<Fact>{}).empty());
  const std::vector<Fact> facts{at_least(kFormOne, 1), at_least(kFormX, kFormY),
                                at_least(kFormY, kFormZ), at_least(kFormZ, kFormX)};
  EXPECT_TRUE(contradictory_part(facts).empty());
}

TEST(Farkas, EquationsCountFromBothSides) {
  const std::vector<Fact> facts{equal(kFormX, kFormY + 1), at_least(kFormY, kFormX)};
  EXPECT_EQ(contradictory_part(facts).size(), 2U);
  const std::vector<Fact> other{equal(kFormX, kFormY - 1), at_least(kFormX, kFormY)};
  EXPECT_EQ(contradictory_part(other).size(), 2U);
}

TEST(Farkas, ProductsAreUnknownsOfTheirOwn) {
  const std::vector<Fact> facts{at_least(kFormX * kFormY, 1), at_least(kFormX, 0),
                                at_least(0, kFormY)};
  EXPECT_TRUE(contradictory_part(facts).empty());
}

}  // namespace
}  // namespace soapstone::verifier
