// Mutants are well-typed, new and reproducible; what is wrong with them is found, and a prover that
// would accept one is seen.
#include "verifier/mutation/mutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/support/rules.h"
#include "verifier/mutation/mutation_edits.h"
#include "verifier/mutation/mutation_score.h"
#include "verifier/mutation/witness_search.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

std::vector<rules::Rule> shipped_origins() {
  const auto file =
      rules::read_rules(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules/contraction.rules");
  EXPECT_TRUE(file.ok());
  return mutation_origins(file->rules, 2, 1);
}

std::vector<Mutant> mutants_of(std::vector<rules::Rule> origins, std::uint64_t seed,
                               std::size_t count) {
  Mutator mutator(std::move(origins), seed);
  std::vector<Mutant> mutants;
  while (mutants.size() < count) {
    auto mutant = mutator.next();
    if (!mutant) break;
    mutants.push_back(*std::move(mutant));
  }
  return mutants;
}

const char* const kSplitOfConcat = R"(rule split_of_concat
  x: [m, n]  z: [m, p]
  where n + 1 <= p
  source
    c = concat(x, z; axis=1)
    s = slice(c; axes=[1], starts=[0], sizes=[n], steps=[1])
    y = relu(s)
  target
    y = relu(x)
)";

TEST(RuleDraftTest, GivesTheSameRuleBack) {
  for (const rules::Rule& rule : shipped_origins()) {
    const auto again = RuleDraft(rule).finish(rule.name);
    ASSERT_TRUE(again.ok()) << rule.name << ": " << again.error().to_string();
    EXPECT_EQ(structure_hash(*again), structure_hash(rule)) << rule.name;
  }
}

TEST(RuleDraftTest, RefusesASourceThatForgetsAnInput) {
  RuleDraft draft(rule_of(kSplitOfConcat));
  draft.source.outputs[0] = {DraftValue::kLeaf, 0};
  EXPECT_FALSE(draft.finish("r").ok());
}

TEST(MutationEditsTest, KnowTheOffByOneOfASlice) {
  const RuleDraft draft(rule_of(kSplitOfConcat));
  std::vector<std::string> what;
  for (const MutationEdit& edit : edits_of(MutationKind::kExtent, draft)) what.push_back(edit.what);
  EXPECT_THAT(what, ::testing::Contains("source: slice: starts [0] -> [1]"));
  EXPECT_THAT(what, ::testing::Contains("source: slice: sizes [n] -> [n + 1]"));
}

TEST(MutationEditsTest, ChangeOnlyTheDraftTheyAreAppliedTo) {
  const rules::Rule rule = rule_of(kSplitOfConcat);
  const RuleDraft draft(rule);
  for (std::size_t kind = 0; kind < kMutationKinds; ++kind)
    for (const MutationEdit& edit : edits_of(static_cast<MutationKind>(kind), draft)) {
      RuleDraft changed = draft;
      edit.apply(changed);
    }
  const auto unchanged = draft.finish("r");
  ASSERT_TRUE(unchanged.ok());
  EXPECT_EQ(structure_hash(*unchanged), structure_hash(rule));
}

TEST(MutationEditsTest, DropTheConditionOfARule) {
  RuleDraft draft(rule_of(kSplitOfConcat));
  const auto edits = edits_of(MutationKind::kCondition, draft);
  ASSERT_EQ(edits.size(), 1U);
  edits[0].apply(draft);
  const auto rule = draft.finish("r");
  ASSERT_TRUE(rule.ok());
  EXPECT_TRUE(rule->guard.empty());
}

TEST(MutationEditsTest, ExchangedRuleInputsKeepAbsentOnesAbsent) {
  const rules::Rule rule = rule_of(R"(rule r
  x: [n, c]  s: [c]  b: [c]
  source
    t = layer_norm(x, s; axis=1)
    u = add(t, b)
    y = relu(u)
  target
    t2 = layer_norm(x, s; axis=1)
    y = relu(t2)
)");
  for (const MutationEdit& edit : edits_of(MutationKind::kSwapRuleInputs, RuleDraft(rule))) {
    RuleDraft draft(rule);
    edit.apply(draft);
    for (const DraftNode& node : draft.target.nodes)
      for (DraftValue input : node.inputs) EXPECT_GE(input.node, DraftValue::kAbsent);
  }
}

TEST(MutatorTest, MakesWellTypedRulesThatAreReadBackTheSame) {
  const auto mutants = mutants_of(shipped_origins(), 1, 200);
  ASSERT_EQ(mutants.size(), 200U);
  for (const Mutant& mutant : mutants) {
    const std::string text = rules::print(mutant.rule);
    const auto again = rules::parse_rules(text);
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << mutant.what << "\n" << text;
    EXPECT_EQ(structure_hash(again->rules.at(0)), structure_hash(mutant.rule)) << text;
  }
}

TEST(MutatorTest, NeverRepeatsItselfOrAnOrigin) {
  std::set<std::uint64_t> hashes;
  const auto origins = shipped_origins();
  for (const rules::Rule& origin : origins) hashes.insert(structure_hash(origin));
  for (const Mutant& mutant : mutants_of(origins, 2, 300)) {
    EXPECT_TRUE(hashes.insert(structure_hash(mutant.rule)).second) << mutant.what;
    EXPECT_FALSE(mutant.kinds.empty());
    EXPECT_LE(mutant.kinds.size(), 2U);
    EXPECT_FALSE(mutant.what.empty());
  }
}

TEST(MutatorTest, DependsOnTheSeedAlone) {
  const auto origins = shipped_origins();
  const auto a = mutants_of(origins, 3, 50), b = mutants_of(origins, 3, 50),
             c = mutants_of(origins, 4, 50);
  std::size_t same = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(rules::print(a[k].rule), rules::print(b[k].rule));
    same += rules::print(a[k].rule) == rules::print(c[k].rule) ? 1 : 0;
  }
  EXPECT_LT(same, a.size() / 2);
}

TEST(MutatorTest, EndsWhenNothingNewIsLeft) {
  const rules::Rule tiny =
      rule_of("rule r\n  x: [n]\n  source\n    t = floor(x)\n    y = floor(t)\n  target\n"
              "    y = floor(x)\n");
  const auto mutants = mutants_of({tiny}, 1, 100'000);
  EXPECT_GT(mutants.size(), 10U);
  EXPECT_LT(mutants.size(), 100'000U);
}

TEST(WitnessSearchTest, TellsWrongFromRight) {
  EXPECT_FALSE(has_witness(rule_of(kSplitOfConcat), 20, 1));
  const char* const wrong[] = {
      "y = slice(x; axes=[0], starts=[0], sizes=[n - 1], steps=[1])",
      "t = slice(x; axes=[0], starts=[1], sizes=[n - 1], steps=[1])\n    y = relu(t)"};
  const std::string text = std::string("rule r\n  x: [n]\n  where n >= 2\n  source\n    ") +
                           wrong[0] + "\n  target\n    " + wrong[1] + "\n";
  EXPECT_TRUE(has_witness(rule_of(text), 20, 1));
}

// In the prime field 1/5 and 1/2 are large numbers, and numbers that are drawn at random are never
// equal.
TEST(WitnessSearchTest, SeesWhatTheFieldOrRandomNumbersAloneDoNot) {
  EXPECT_TRUE(has_witness(rule_of("rule r\n  x: [n]\n  source\n    t = hard_sigmoid(x)\n"
                                  "    y = hard_sigmoid(t)\n  target\n"
                                  "    y = full(; shape=[n], value=0.0)\n"),
                          20, 1));
  EXPECT_TRUE(has_witness(rule_of("rule r\n  x: [n]  z: [n]\n  source\n    t = less(x, z)\n"
                                  "    y = not(t)\n  target\n    y = less(z, x)\n"),
                          20, 1));
  EXPECT_TRUE(has_witness(rule_of("rule r\n  i: i64[n]\n  source\n    y = clip(i; max=6.0)\n"
                                  "  target\n    y = i\n"),
                          20, 1));
}

TEST(WitnessSearchTest, TriesNegativePads) {
  const std::string rule = "  source\n    t = pad(x; pads=[u, 0])\n"
                           "    y = slice(t; axes=[0], starts=[u], sizes=[n], steps=[1])\n"
                           "  target\n    y = x\n";
  EXPECT_FALSE(has_witness(rule_of("rule r\n  x: [n]\n  where u >= 0\n" + rule), 40, 1));
  const std::string crop = "  source\n    t = pad(x; pads=[u, 0])\n    y = pad(t; pads=[v, 0])\n"
                           "  target\n    y = pad(x; pads=[u + v, 0])\n";
  EXPECT_TRUE(has_witness(rule_of("rule r\n  x: [n]\n" + crop), 40, 1));
}

ScoreOptions small_score(int jobs) {
  ScoreOptions options;
  options.mutants = 60;
  options.jobs = jobs;
  options.witness_sizes = 10;
  options.proved_witness_sizes = 10;
  return options;
}

TEST(MutationScoreTest, NoWrongMutantIsProvedAndNearlyAllAreRefuted) {
  const MutationScore score = score_mutants(shipped_origins(), small_score(2));
  EXPECT_EQ(score.total.made, 60U);
  EXPECT_GT(score.total.refuted, 30U);
  EXPECT_EQ(score.total.wrong_proved, 0U)
      << (score.wrong_and_proved.empty() ? "" : score.wrong_and_proved[0].text);
  EXPECT_GE(score.share_refuted(), 0.95);
  EXPECT_EQ(score.total.made, score.total.wrong() + score.total.equal + score.total.open);
}

TEST(MutationScoreTest, IsTheSameForAnyNumberOfThreads) {
  const auto origins = shipped_origins();
  const MutationScore one = score_mutants(origins, small_score(1)),
                      three = score_mutants(origins, small_score(3));
  EXPECT_EQ(one.origins_proved, three.origins_proved);
  for (std::size_t k = 0; k < kMutationKinds; ++k) {
    EXPECT_EQ(one.by_kind[k].made, three.by_kind[k].made);
    EXPECT_EQ(one.by_kind[k].refuted, three.by_kind[k].refuted);
    EXPECT_EQ(one.by_kind[k].equal, three.by_kind[k].equal);
  }
}

TEST(MutationScoreTest, EndsEarlyWhenAskedTo) {
  ScoreOptions options = small_score(2);
  options.progress = [](std::size_t done) { return done < 5; };
  EXPECT_LE(score_mutants(shipped_origins(), options).total.made, 7U);
}

TEST(MutationScoreTest, AShareOfNothingIsWhole) {
  MutationScore score;
  EXPECT_EQ(score.share_refuted(), 1);
  score.total.refuted = 3;
  score.total.missed = 1;
  EXPECT_EQ(score.share_refuted(), 0.75);
}

}  // namespace
}  // namespace soapstone::verifier
