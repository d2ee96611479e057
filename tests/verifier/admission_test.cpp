// Admission of matches: by proof lines of files, and by proofs of the values that a match has.
#include "verifier/admission.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "core/text/text.h"
#include "ops/definition/registry.h"
#include "rules/matching/match_at.h"
#include "rules/text/evidence.h"
#include "tests/support/graphs.h"
#include "tests/support/rules.h"

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

std::string with_label(const std::string& text, const std::string& label) {
  auto line = rules::parse_evidence(rules::Evidence::Kind::kProved, "all-sizes; " + label);
  EXPECT_TRUE(line.ok()) << line.error().to_string();
  return rules::with_evidence(text, {{1, *std::move(line)}});
}

std::string with_proof(const std::string& text) {
  return with_label(text, "types: any; floats: exact; edges: none");
}

/// The answers for the matches in a graph with one turned, one unturned and one negated tensor.
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
    const auto set = rule_set_of(text);
    Admission strict(set), lenient(set, {.allow_unproved = true});
    EXPECT_FALSE(strict.is_proved(core::RuleId(0)));
    for (const bool admitted : answers(strict)) EXPECT_FALSE(admitted);
    for (const bool admitted : answers(lenient)) EXPECT_TRUE(admitted);
    EXPECT_EQ(strict.proofs_tried(), 0U);
  }
}

TEST(Admission, BelievesTheFileOfARuleWithoutParameters) {
  const auto set = rule_set_of(with_proof(kNegations));  // it is wrong
  Admission admission(set);
  EXPECT_EQ(answers(admission), std::vector<bool>{true});
  EXPECT_EQ(admission.proofs_tried(), 0U);
}

TEST(Admission, OrProvesItAnew) {
  const auto set = rule_set_of(with_proof(kNegations));
  Admission admission(set, {.believe_files = false});
  EXPECT_EQ(answers(admission), std::vector<bool>{false});
  EXPECT_EQ(admission.proofs_tried(), 1U);
}

TEST(Admission, ProvesTheValuesThatAMatchHas) {
  const auto set = rule_set_of(with_proof(kIdentityOrNot));
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

/// The rule is right for bounds up to 2, of which all are that a file is proved for.
TEST(Admission, AProofAtOneBoundAdmitsNoOther) {
  const auto set = rule_set_of(with_proof(R"(rule clips
  x: [n]
  source
    t = clip(x; max=b)
    y = clip(t; max=2)
  target
    y = clip(x; max=b)
)"));
  for (const RuleUse use : {RuleUse::kReplace, RuleUse::kBothWays}) {
    Admission admission(set);
    std::map<double, bool> admitted;
    for (const double bound : {-1.0, 0.3, 2.0, 2.5, 7.0}) {
      const core::Graph graph = graph_of(fmt::format(
          "graph g\n  x: f32[3]\n  t = clip(x; max={})\n  y = clip(t; max=2)\n  return y\n",
          bound));
      set.for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
        admitted[bound] = admission.admits(rule, match, use);
        return true;
      });
    }
    EXPECT_EQ(admitted, (std::map<double, bool>{
                            {-1.0, true}, {0.3, true}, {2.0, true}, {2.5, false}, {7.0, false}}));
  }
}

class Notebook final : public ProofMemory {
 public:
  std::optional<std::string> find(const rules::Rule& rule) const override {
    const auto known = lines.find(rules::print(rule));
    return known == lines.end() ? std::nullopt : std::optional(known->second);
  }
  void put(const rules::Rule& rule, const std::string& reason) override {
    lines[rules::print(rule)] = reason;
  }
  std::map<std::string, std::string> lines;
};

TEST(Admission, AsksItsMemoryBeforeItProves) {
  const auto set = rule_set_of(with_proof(kIdentityOrNot));
  Notebook notebook;
  std::string reason;
  for (const std::size_t kept : {0, 2}) {
    Admission admission(set, {.memory = &notebook});
    EXPECT_EQ(answers(admission), (std::vector<bool>{true, false}));
    EXPECT_EQ(admission.proofs_kept(), kept);
    EXPECT_EQ(admission.proofs_tried(), 2 - kept);
    if (reason.empty()) reason = admission.refusals()[0].reason;
    EXPECT_EQ(admission.refusals()[0].reason, reason);
  }
  EXPECT_EQ(notebook.lines.size(), 2U) << "one for each permutation";
  // Who believes no file believes no memory.
  Admission strict(set, {.believe_files = false, .memory = &notebook});
  answers(strict);
  EXPECT_EQ(strict.proofs_kept(), 0U);
}

TEST(Admission, ProofsThatWereStoppedSayNothingOfARule) {
  const auto set = rule_set_of(with_proof(kIdentityOrNot));
  Notebook notebook;
  Admission admission(set, {.memory = &notebook});
  admission.stop_proofs_when([] { return true; });
  EXPECT_EQ(answers(admission), (std::vector<bool>{false, false}));
  EXPECT_TRUE(admission.refusals().empty());
  EXPECT_TRUE(notebook.lines.empty());
}

TEST(Admission, SaysWhyAnEditedRuleIsRefused) {
  std::string text = with_proof(kNegations);
  text.replace(text.find("relu"), 4, "tanh");
  const auto set = rule_set_of(text);
  Admission admission(set);
  EXPECT_EQ(admission.refusal(core::RuleId(0), {}),
            "the rule was changed after its proof, or its label was");
}

const std::string kScale = R"(rule scale_out
  x: [n, n]   a: [n, n]   c: []
  source
    xc = mul(x, c)
    y = matmul(xc, a)
  target
    xa = matmul(x, a)
    y = mul(xa, c)
)";

/// The answer for the one match in a product of that type, and then the refusals that were noted.
struct Answer {
  std::string replace, both_ways;
  std::vector<std::string> noted;
};

Answer answer_for(Admission& admission, const std::string& type) {
  const core::Graph graph =
      graph_of("graph g\n  x: " + type + "[3, 3]\n  a: " + type + "[3, 3]\n  c: " + type +
               "[]\n  xc = mul(x, c)\n  y = matmul(xc, a)\n  return y\n");
  Answer answer;
  int matches = 0;
  admission.rules().for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
    ++matches;
    EXPECT_EQ(core::to_string(match.float_type), type);
    answer.replace = admission.refusal(rule, match);
    answer.both_ways = admission.refusal(rule, match, RuleUse::kBothWays);
    EXPECT_EQ(admission.admits(rule, match), answer.replace.empty());
    EXPECT_EQ(admission.admits(rule, match, RuleUse::kBothWays), answer.both_ways.empty());
    return true;
  });
  EXPECT_EQ(matches, 1);
  for (const auto& refusal : admission.label_refusals())
    answer.noted.push_back(refusal.rule + " " + std::string(core::to_string(refusal.type)));
  return answer;
}

TEST(Admission, DecidesByTheTypeOfAMatch) {
  const auto set = rule_set_of(with_label(
      kScale, "types: any; floats: reassociates; edges: extreme overflow, f16 overflow"));
  for (const std::string type : {"f32", "f64", "bf16"}) {
    Admission admission(set);
    const Answer answer = answer_for(admission, type);
    EXPECT_EQ(answer.replace, "") << type;
    EXPECT_EQ(answer.both_ways, "") << type;
    EXPECT_TRUE(answer.noted.empty());
  }
  Admission admission(set), lenient(set, {.allow_range_changes = true});
  const Answer refused = answer_for(admission, "f16");
  EXPECT_EQ(refused.replace, "it loses values that its source has in f16");
  EXPECT_EQ(refused.noted, std::vector<std::string>{"scale_out f16"});
  EXPECT_EQ(answer_for(lenient, "f16").replace, "");
}

TEST(Admission, AProofHoldsForItsTypes) {
  const auto set =
      rule_set_of(with_label(kScale, "types: f32, f64; floats: reassociates; edges: none"));
  Admission admission(set, {.allow_range_changes = true});
  EXPECT_EQ(answer_for(admission, "f64").replace, "");
  EXPECT_EQ(answer_for(admission, "f16").replace,
            "its proof is for f32, f64 tensors, these are f16");
}

TEST(Admission, WhatExtendsTheRangeIsNotTurnedAround) {
  const auto extends = rule_set_of(with_label(
      kScale, "types: any; floats: reassociates; edges: extreme recovers, f16 recovers"));
  Admission admission(extends);
  EXPECT_EQ(answer_for(admission, "f32").both_ways, "");
  EXPECT_EQ(answer_for(admission, "f16").replace, "");
  EXPECT_THAT(answer_for(admission, "f16").both_ways,
              testing::HasSubstr("each may stand for the other"));
  const auto by_proof =
      rule_set_of(with_label(kScale, "types: any; floats: extends-range; edges: none"));
  Admission of_proof(by_proof);
  EXPECT_EQ(answer_for(of_proof, "f32").replace, "");
  EXPECT_NE(answer_for(of_proof, "f32").both_ways, "");
  const auto loses =
      rule_set_of(with_label(kScale, "types: any; floats: changes-range; edges: none"));
  Admission of_loss(loses);
  EXPECT_NE(answer_for(of_loss, "f32").replace, "");
}

TEST(Admission, WithoutAFileTheEdgesAreTriedHere) {
  // The label is a lie, which does not help it.
  const auto set = rule_set_of(with_proof(kScale));
  Admission admission(set, {.believe_files = false});
  EXPECT_EQ(answer_for(admission, "f32").replace, "");
  EXPECT_EQ(answer_for(admission, "f16").replace, "it loses values that its source has in f16");
  Admission lenient(set, {.believe_files = false, .allow_range_changes = true});
  EXPECT_EQ(answer_for(lenient, "f16").replace, "");
}

/// A rule that was made for a graph: nothing is known of it, and no search finds it.
rules::Rule made_of(std::string text) {
  text.insert(text.find("  source"), "  placed\n");
  rules::Rule rule = rule_of(text);
  rule.evidence.kind = rules::Evidence::Kind::kProved;
  rule.is_proved_on_demand = true;
  return rule;
}

/// The refusal of the one match in a graph with a scaled product of that type.
std::string refusal_of_made(const std::string& text, const std::string& type, int size,
                            const AdmissionOptions& options = {}) {
  const std::string square = fmt::format("{}[{}, {}]\n", type, size, size);
  const core::Graph graph = graph_of("graph g\n  x: " + square + "  a: " + square + "  c: " + type +
                                     "[]\n  xc = mul(x, c)\n  y = matmul(xc, a)\n  return y\n");
  Admission admission(rules::RuleSet({}), options);
  admission.add_placed({made_of(text)});
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  const std::vector<core::TensorId> inputs(graph.inputs().begin(), graph.inputs().end());
  const auto match = rules::find_match_at(graph, admission.rules(), core::RuleId(0), nodes, inputs);
  EXPECT_TRUE(match.has_value());
  if (!match) return "no match";
  const std::string refusal = admission.refusal(core::RuleId(0), *match);
  EXPECT_EQ(admission.admits(core::RuleId(0), *match), refusal.empty());
  return refusal;
}

std::string of_size(std::string text, int size) {
  const std::string wanted = fmt::format("[{}, {}]", size, size);
  for (std::size_t at = 0; (at = text.find("[n, n]")) != std::string::npos;)
    text.replace(at, 6, wanted);
  return text;
}

TEST(Admission, ARuleThatWasMadeIsTriedAtTheLimitsOfHalf) {
  for (const std::string& text : {kScale, of_size(kScale, 3)}) {
    EXPECT_EQ(refusal_of_made(text, "f32", 3), "");
    EXPECT_EQ(refusal_of_made(text, "bf16", 3), "");
    EXPECT_EQ(refusal_of_made(text, "f16", 3), "it loses values that its source has in f16");
    EXPECT_EQ(refusal_of_made(text, "f16", 3, {.allow_range_changes = true}), "");
  }
}

TEST(Admission, WhatTakesTooLongToTryIsRefused) {
  EXPECT_EQ(refusal_of_made(of_size(kScale, 100), "f32", 100), "");
  EXPECT_THAT(refusal_of_made(of_size(kScale, 100), "f16", 100), testing::HasSubstr("too large"));
}

/// relu(relu(x)) = relu(x) with that one effect in its label.
rules::RuleSet with_effect(rules::EdgeEffect effect, rules::EdgeReach reach) {
  rules::Rule rule = rule_of("x: [n]", "t = relu(x)\n    y = relu(t)", "y = relu(x)");
  rule.evidence.kind = rules::Evidence::Kind::kProved;
  rule.edges.emplace().note({core::DataType::kFloat32, effect, reach});
  rule.types = rules::FloatTypes::any();
  return rules::RuleSet({rule});
}

bool is_admitted(const rules::RuleSet& set, const AdmissionOptions& options, SpecialsAt specials,
                 const std::string& type = "f32") {
  const core::Graph graph =
      graph_of("graph g\n  x: " + type + "[3]\n  t = relu(x)\n  y = relu(t)\n  return y\n");
  Admission admission(set, options);
  bool admitted = false;
  set.for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
    admitted = admission.admits(rule, match, specials);
    const bool is_noted = !admission.refused_for_specials().empty();
    EXPECT_EQ(is_noted, !admitted && !options.strict_ieee);
    return false;
  });
  return admitted;
}

TEST(Admission, WhatChangesSpecialsIsRefusedWhereTheyMatter) {
  using rules::EdgeEffect;
  using rules::EdgeReach;
  struct Case {
    EdgeEffect effect;
    bool with_inputs, with_results;  ///< Admitted where specials matter in these.
  };
  for (const auto& [effect, with_inputs, with_results] :
       {Case{EdgeEffect::kNan, false, false}, Case{EdgeEffect::kDropsNan, false, false},
        Case{EdgeEffect::kInfinity, false, false}, Case{EdgeEffect::kRecovers, true, false},
        Case{EdgeEffect::kOtherValue, false, false}, Case{EdgeEffect::kOverflow, true, false},
        Case{EdgeEffect::kUnderflow, true, true}, Case{EdgeEffect::kZeroSign, true, true}}) {
    const auto set = with_effect(effect, EdgeReach::kExtreme);
    EXPECT_TRUE(is_admitted(set, {}, {}));
    EXPECT_EQ(is_admitted(set, {}, {.inputs = true}), with_inputs);
    EXPECT_EQ(is_admitted(set, {}, {.results = true}), with_results);
    EXPECT_FALSE(is_admitted(set, {.strict_ieee = true}, {}));
    EXPECT_TRUE(is_admitted(set, {.strict_ieee = true}, {}, "bf16")) << "the label is about f32";
    EXPECT_TRUE(is_admitted(set, {}, {.inputs = true, .results = true}, "bf16"));
  }
}

TEST(Admission, ARuleThatWasMadeIsTriedWhereSpecialsMatter) {
  const auto admits = [](const std::string& target, const AdmissionOptions& options,
                         SpecialsAt specials) {
    Admission admission(rules::RuleSet({}), options);
    admission.add_placed({made_of(rule_text("x: [3]", "t = relu(x)\n    y = relu(t)", target))});
    const core::Graph graph =
        graph_of("graph g\n  x: f32[3]\n  t = relu(x)\n  y = relu(t)\n  return y\n");
    const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
    const auto match = rules::find_match_at(graph, admission.rules(), core::RuleId(0), nodes,
                                            std::vector{graph.inputs()[0]});
    EXPECT_TRUE(match.has_value());
    return match && admission.admits(core::RuleId(0), *match, specials);
  };
  const std::string clean = "y = relu(x)";
  // 0·x is NaN where x is not finite, so the sum spreads what is not finite to other elements.
  const std::string spreads = "r = relu(x)\n    z = full(; shape=[], value=0)\n    o = mul(r, z)\n"
                              "    s = reduce_sum(o; axes=[0], keep_dims=1)\n    y = add(r, s)";
  for (const SpecialsAt specials : {SpecialsAt{true, false}, SpecialsAt{false, true}}) {
    EXPECT_TRUE(admits(clean, {}, specials));
    EXPECT_FALSE(admits(spreads, {}, specials));
  }
  EXPECT_TRUE(admits(spreads, {}, {}));
  EXPECT_FALSE(admits(spreads, {.strict_ieee = true}, {}));
  EXPECT_TRUE(admits(clean, {.strict_ieee = true}, {}));
}

TEST(Admission, AnswersManyThreadsAlike) {
  const auto set = rule_set_of(with_proof(kIdentityOrNot));
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
