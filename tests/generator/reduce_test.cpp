// Equalities that are left out follow from those that are kept.
#include "generator/selection/reduce.h"

#include <gtest/gtest.h>

#include "generator/selection/completeness.h"
#include "generator_fixture.h"

namespace soapstone::generator {
namespace {

struct Reduced {
  std::vector<RuleCandidate> kept;
  ReduceStatistics statistics;
  std::vector<rules::Rule> rules;  ///< With the laws of constants.
};

Reduced reduced(const Enumeration& enumeration, int jobs = 2) {
  Reducer reducer({jobs, nullptr, nullptr});
  reducer.add(enumeration);
  Reduced result{reducer.take_kept(), reducer.statistics(), reducer.constant_laws()};
  for (const RuleCandidate& candidate : result.kept)
    for (const auto* direction : {&candidate.forward, &candidate.backward, &candidate.expansion})
      if (*direction)
        result.rules.insert(result.rules.end(), (*direction)->instances.begin(),
                            (*direction)->instances.end());
  return result;
}

/// How many of the equalities do not follow from the rules by saturation, which shares no code with
/// what left them out.
std::size_t lost(const Enumeration& enumeration, const Reduced& reduced) {
  CompletenessOptions options;
  options.limits.nodes = 300;
  const core::StopToken stop;
  const Completeness result = completeness(enumeration, rules::SaturationRules(reduced.rules),
                                           options, core::silent(), stop);
  EXPECT_GT(result.derived, 0u);
  return result.lost.size();
}

TEST(Reduce, WhatIsLeftOutFollows) {
  for (const auto& operators : std::vector<std::vector<std::string>>{
           {"add", "relu", "concat"}, {"matmul", "transpose"}, {"mul", "add"}, {"exp", "neg"}}) {
    const Enumeration found = enumerate_operators(operators, 2);
    const Reduced result = reduced(found);
    EXPECT_LT(result.kept.size(), result.statistics.pairs);
    EXPECT_EQ(lost(found, result), 0u) << operators[0];
  }
}

TEST(Completeness, WithoutALawItIsLost) {
  const Enumeration found = enumerate_operators({"add", "relu"}, 2);
  const Reduced all = reduced(found);
  ASSERT_EQ(lost(found, all), 0u);
  Reduced none = all;
  none.rules.clear();
  const core::StopToken stop;
  EXPECT_GT(
      completeness(found, rules::SaturationRules(none.rules), {}, core::silent(), stop).lost.size(),
      0u);
}

TEST(Reduce, AFewLawsSayAll) {
  // x + y commutes without a rule; what is left is (x + y) + z = x + (y + z).
  const Reduced sums = reduced(enumerate_operators({"add"}, 3));
  std::size_t with_inputs_apart = 0;
  for (const RuleCandidate& candidate : sums.kept)
    with_inputs_apart += candidate.inputs == 3 ? 1 : 0;
  EXPECT_EQ(with_inputs_apart, 1u);
}

TEST(Reduce, StatisticsAddUp) {
  const Reduced result = reduced(enumerate_operators({"mul", "relu"}, 2));
  const ReduceStatistics& s = result.statistics;
  EXPECT_EQ(s.pairs, s.derived + s.wrong + s.without_rule + s.kept + s.of_constants);
  EXPECT_EQ(s.kept, result.kept.size());
}

TEST(Reduce, OneThreadOrMore) {
  const Enumeration found = enumerate_operators({"add", "relu", "concat", "matmul"}, 2);
  std::vector<std::vector<std::string>> texts;
  for (int jobs : {1, 3}) {
    auto& text = texts.emplace_back();
    for (const RuleCandidate& c : reduced(found, jobs).kept)
      text.push_back(c.forward ? c.forward->text : c.backward->text);
  }
  EXPECT_FALSE(texts[0].empty());
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Reduce, OneVocabularyAfterTheOther) {
  const Enumeration matrices = enumerate_operators({"add", "relu"}, 2);
  Reducer reducer({2, nullptr, nullptr});
  reducer.add(matrices);
  const std::uint64_t first = reducer.statistics().kept;
  EXPECT_GT(first, 0u);
  // The same again, and the same laws for another rank: nothing new.
  reducer.add(matrices);
  const std::vector<std::string> operators{"add", "relu"};
  const std::vector<std::size_t> ranks{3};
  const auto vocabulary = vocabulary_of(operators, ranks);
  ASSERT_TRUE(vocabulary);
  EnumerateOptions options;
  options.ops = 2;
  const auto other = enumerate(*vocabulary, options);
  ASSERT_TRUE(other);
  reducer.add(*other);
  EXPECT_EQ(reducer.statistics().kept, first);
}

}  // namespace
}  // namespace soapstone::generator
