// Which matches may be replaced: by proof lines of files, by proofs of the values that a match has.
#include "verifier/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/text.h"
#include "ops/registry.h"
#include "rules/evidence.h"

namespace soapstone::verifier {
namespace {

/// Right for the permutation [0, 1] only.
const std::string kIdentityOrNot = R"(rule transpose_is_nothing
  x: [n, n]
  source
    t = transpose(x; perm=[p, q])
    y = neg(t)
  target
    y = neg(x)
)";

const std::string kNegations = R"(rule double_negation
  x: [n, n]
  source
    t = neg(x)
    y = neg(t)
  target
    u = relu(x)
    y = sub(u, u)
)";

std::string with_proof(const std::string& text) {
  const rules::EvidenceLine line{{rules::Evidence::Kind::kProved, "all-sizes; verifier 1"}, {}};
  return rules::with_evidence(text, {{1, line}});
}

rules::RuleSet set_of(const std::string& text) {
  auto file = rules::parse_rules(text);
  EXPECT_TRUE(file.ok()) << file.error().to_string();
  return rules::RuleSet(std::move(file->rules));
}

core::Graph graph_of(const std::string& text) {
  auto graph = core::parse_graph(text, ops::registry(), ops::infer_types);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return *std::move(graph);
}

/// What is said of the matches in a graph with one turned, one unturned and one negated tensor.
std::vector<bool> answers(Admission& admission) {
  const core::Graph graph = graph_of(R"(graph g
  x: f32[3, 3]
  a = transpose(x; perm=[0, 1])
  b = neg(a)
  c = transpose(x; perm=[1, 0])
  d = neg(c)
  e = neg(d)
  return b, e
)");
  std::vector<bool> all;
  admission.rules().for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
    all.push_back(admission.admits(rule, match));
    EXPECT_EQ(all.back(), admission.refusal(rule, match).empty());
    return true;
  });
  return all;
}

TEST(Admission, RefusesWhatHasNoProof) {
  for (const std::string& text : {kIdentityOrNot, kNegations}) {
    const auto set = set_of(text);
    Admission strict(set), lenient(set, {.allow_unproved = true});
    EXPECT_FALSE(strict.is_proved(core::RuleId(0)));
    for (const bool admitted : answers(strict)) EXPECT_FALSE(admitted);
    for (const bool admitted : answers(lenient)) EXPECT_TRUE(admitted);
    EXPECT_EQ(strict.proofs_tried(), 0U);
  }
}

TEST(Admission, BelievesTheFileOfARuleWithoutParameters) {
  const auto set = set_of(with_proof(kNegations));  // it is wrong
  Admission admission(set);
  EXPECT_EQ(answers(admission), std::vector<bool>{true});
  EXPECT_EQ(admission.proofs_tried(), 0U);
}

TEST(Admission, OrProvesItAnew) {
  const auto set = set_of(with_proof(kNegations));
  Admission admission(set, {.believe_files = false});
  EXPECT_EQ(answers(admission), std::vector<bool>{false});
  EXPECT_EQ(admission.proofs_tried(), 1U);
}

TEST(Admission, ProvesTheValuesThatAMatchHas) {
  const auto set = set_of(with_proof(kIdentityOrNot));
  for (const bool lenient : {false, true}) {
    Admission admission(set, {.allow_unproved = lenient});
    EXPECT_EQ(answers(admission), (std::vector<bool>{true, false}));
    EXPECT_EQ(answers(admission), (std::vector<bool>{true, false}));
    EXPECT_EQ(admission.proofs_tried(), 2U) << "once for each permutation";
    EXPECT_GT(admission.cpu_ms(), 0);
    const auto refusals = admission.refusals();
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].rule, "transpose_is_nothing");
    EXPECT_EQ(refusals[0].values, "p = 1, q = 0");
    EXPECT_FALSE(refusals[0].reason.empty());
  }
}

TEST(Admission, SaysWhyAnEditedRuleIsRefused) {
  std::string text = with_proof(kNegations);
  text.replace(text.find("relu"), 4, "tanh");
  const auto set = set_of(text);
  Admission admission(set);
  EXPECT_EQ(admission.refusal(core::RuleId(0), {}), "the rule was changed after its proof");
}

TEST(Admission, AnswersManyThreadsAlike) {
  const auto set = set_of(with_proof(kIdentityOrNot));
  Admission admission(set);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 6; ++k)
      threads.emplace_back([&] { right += answers(admission) == std::vector<bool>{true, false}; });
  }
  EXPECT_EQ(right, 6);
  EXPECT_EQ(admission.proofs_tried(), 2U);
}

}  // namespace
}  // namespace soapstone::verifier
