// Which inputs of a law may be broadcast, and the families that say so.
#include "generator/generalization/broadcast.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/generalization/candidates.h"
#include "generator/sides/rule_between.h"
#include "generator_fixture.h"

namespace soapstone::generator {
namespace {

Sides sides_in(const std::string& body) {
  const auto file = rules::parse_rules("rule r\n" + body);
  EXPECT_TRUE(file) << file.error().to_string();
  return {file->rules[0].source, file->rules[0].target};
}

std::optional<Broadcasts> broadcasts_in(const std::string& body) {
  const Sides sides = sides_in(body);
  const auto rule = rule_between(sides.source, sides.target);
  EXPECT_TRUE(rule) << body;
  return broadcasts_of(*rule);
}

std::vector<std::size_t> ranks_of(const InputShapes& shapes) {
  std::vector<std::size_t> ranks;
  for (const core::Shape& shape : shapes) ranks.push_back(shape.size());
  return ranks;
}

bool has_ranks(const Broadcasts& broadcasts, const std::vector<std::size_t>& ranks) {
  return std::ranges::any_of(broadcasts.choices,
                             [&](const InputShapes& shapes) { return ranks_of(shapes) == ranks; });
}

const std::string kSumOfThree = "  source\n    t = add(x, y)\n    r = add(t, z)\n"
                                "  target\n    u = add(y, z)\n    r = add(x, u)\n";

TEST(Broadcasts, AnySummandMayBeARowOrANumber) {
  const auto found = broadcasts_in("  x: [m, n]  y: [n]  z: [m, n]\n" + kSumOfThree);
  ASSERT_TRUE(found);
  // Three shapes for each of three inputs, less those of which the sum is a row; and numbers alone.
  EXPECT_EQ(found->choices.size(), 20u);
  EXPECT_EQ(ranks_of(found->choices[0]), (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_TRUE(has_ranks(*found, {2, 1, 0}));
  EXPECT_TRUE(has_ranks(*found, {0, 0, 2}));
  EXPECT_TRUE(has_ranks(*found, {0, 0, 0}));
  EXPECT_FALSE(has_ranks(*found, {1, 1, 0}));
}

TEST(Broadcasts, AreTheSameFromWhicheverShapesTheLawWasFoundIn) {
  const auto found = broadcasts_in("  x: [m, n]  y: [n]  z: []\n" + kSumOfThree);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->choices.size(), 20u);
  EXPECT_EQ(found->largest.source.tensor(found->largest.source.inputs()[2]).type.shape.size(), 2u);
}

TEST(Broadcasts, ChannelsOfImagesStandInForRows) {
  const auto found =
      broadcasts_in("  x: [b, c, h, w]  y: [c, 1, 1]  z: [b, c, h, w]\n" + kSumOfThree);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has_ranks(*found, {4, 3, 0}));
  EXPECT_FALSE(has_ranks(*found, {4, 1, 4}));
}

TEST(Broadcasts, AnInputThatAProductReadsKeepsItsShape) {
  const auto found = broadcasts_in("  x: [m, k]  y: [k]  w: [k, n]\n"
                                   "  source\n    t = add(x, y)\n    r = matmul(t, w)\n"
                                   "  target\n    u = add(y, x)\n    v = relu(w)\n"
                                   "    r = matmul(u, v)\n");
  ASSERT_TRUE(found);
  for (const InputShapes& shapes : found->choices) EXPECT_EQ(shapes[2].size(), 2u);
}

TEST(Broadcasts, NoneWhereTheResultWouldHaveAnotherShape) {
  EXPECT_FALSE(broadcasts_in("  x: [m, k]  w: [k, n]  s: []\n"
                             "  source\n    t = mul(s, x)\n    r = matmul(t, w)\n"
                             "  target\n    u = matmul(x, w)\n    r = mul(s, u)\n"));
  EXPECT_FALSE(broadcasts_in("  x: [m, n]\n"
                             "  source\n    t = relu(x)\n    r = relu(t)\n"
                             "  target\n    r = relu(x)\n"));
}

TEST(Broadcasts, NoneOfALawOfEqualShapes) {
  EXPECT_FALSE(broadcasts_in("  x: [m, n]  y: [m, n]  z: [m, n]\n" + kSumOfThree));
}

TEST(Broadcasts, AFamilyHasEveryChoiceAtEveryRank) {
  const auto made = candidate_of(sides_in("  x: [n, n]  y: [n, n]  z: [n]\n" + kSumOfThree));
  ASSERT_TRUE(made && made->forward);
  EXPECT_NE(made->forward->text.find("for A in ranks(0..3)"), std::string::npos);
  EXPECT_NE(made->forward->text.find("for (S1, S2, S3) in {([A.., n1], [A.., n1], [A.., n1]), "),
            std::string::npos)
      << made->forward->text;
  // Where tensors have one dimension, rows are tensors: seven of the choices differ. Numbers alone
  // are an instance at each of the four ranks.
  EXPECT_EQ(made->forward->instances.size(), 3u * 19u + 7u + 4u);
}

TEST(Broadcasts, ASingleInputNeedsNoTuple) {
  const auto made = candidate_of(sides_in("  x: [m, k]  w: [k, n]  y: []\n"
                                          "  source\n    t = mul(y, w)\n    r = matmul(x, t)\n"
                                          "  target\n    u = matmul(x, w)\n    r = mul(y, u)\n"));
  ASSERT_TRUE(made && made->forward);
  EXPECT_NE(made->forward->text.find(" in {[n2], []}"), std::string::npos) << made->forward->text;
}

}  // namespace
}  // namespace soapstone::generator
