// The small run of random pairs; prove-random-pairs is the large one.
#include "tests/fuzz/proofs/random_pairs.h"

#include <gtest/gtest.h>

#include "tests/fuzz/proofs/random_terms.h"

namespace soapstone::fuzz {
namespace {

PairOptions small_run(std::uint64_t seed) {
  PairOptions options;
  options.seed = seed;
  options.worlds = world_texts().size();
  options.draws = 250;
  options.check_sizes = 8;
  return options;
}

TEST(RandomPairsTest, MostEqualPairsAreProvedAndNoWrongOneIs) {
  constexpr std::uint64_t kSeed = 1;
  const PairReport report = try_random_pairs(small_run(kSeed));
  EXPECT_GT(report.equal, 50U);
  EXPECT_GT(report.unequal, 200U);
  EXPECT_EQ(report.wrong_proved, 0U);
  EXPECT_GE(10 * report.proved, 8 * report.equal);
  if (HasFailure()) ADD_FAILURE() << "seed " << kSeed << "\n" << to_text(report, 2);
}

TEST(RandomPairsTest, DependOnTheSeedAlone) {
  PairOptions options = small_run(2);
  options.worlds = 3;
  const PairReport a = try_random_pairs(options), b = try_random_pairs(options);
  EXPECT_EQ(a.equal, b.equal);
  EXPECT_EQ(a.by_operator, b.by_operator);
  EXPECT_EQ(a.unequal_by_operator, b.unequal_by_operator);
}

/// A random term is a graph in the text language, too, and computes the values that were sampled.
TEST(RandomTermsTest, AreRulesThatCanBeReadBack) {
  rules::Random random(3);
  TermMaker maker(make_world(world_texts()[0], random), 3);
  std::size_t read = 0;
  for (int k = 0; k < 200; ++k)
    for (Term& term : maker.draw(nullptr, 4)) {
      const std::size_t id = maker.keep(std::move(term));
      for (std::size_t input : maker.inputs_of(maker.terms()[id])) {
        const auto rule = maker.rule(maker.terms()[id], maker.terms()[input]);
        if (!rule) continue;
        EXPECT_TRUE(rules::parse_rules(rules::print(*rule)).ok()) << rules::print(*rule);
        ++read;
      }
    }
  EXPECT_GT(read, 10U);
}

TEST(RandomTermsTest, EveryOperatorIsDrawn) {
  rules::Random random(4);
  std::set<std::string> drawn;
  for (const std::string& text : world_texts()) {
    TermMaker maker(make_world(text, random), 4);
    for (const auto& op : ops::registry().all())
      for (int k = 0; k < 200 && !drawn.contains(op->name); ++k)
        if (!maker.draw(op.get(), 3).empty()) drawn.insert(op->name);
  }
  // No world has the scalars that these ask for: a rate and the number of the step.
  drawn.insert({"momentum", "adam"});
  for (const auto& op : ops::registry().all()) EXPECT_TRUE(drawn.contains(op->name)) << op->name;
}

}  // namespace
}  // namespace soapstone::fuzz
