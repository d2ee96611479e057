// Chains of rewrites: written, read, replayed, and refused once a part of them was changed.
#include "search/proofs/proof_chain.h"

#include <gmock/gmock.h>

#include "runtime/launches/backend.h"
#include "search/optimize.h"
#include "tests/search/search_fixture.h"

namespace soapstone::search {
namespace {

using testing::HasSubstr;

class Chain : public ::testing::Test {
 protected:
  void SetUp() override {
    const rules::RuleSet baseline = rule_set_of(kDoubleNegation),
                         rules = rule_set_of(kMergeMatmuls);
    verifier::Admission first(baseline, {.allow_unproved = true});
    verifier::Admission second(rules, {.allow_unproved = true});
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    OptimizeOptions options;
    options.measure = false;
    options.search.time_s = 0;
    options.search.alpha = 2;
    options.search.budget = 50;
    auto report = optimize(graph_, first, second, *cost, *backend_, options, core::silent(), {});
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    chain_ = report->chain;
    const auto folded = fold_constants(report->graph, *backend_);
    ASSERT_TRUE(folded.ok());
    chain_.add(ChainStep::Kind::kFoldConstants, folded->hash());
    result_ = *folded;
    text_ = print(chain_);
  }

  core::Result<Replay> replayed(const std::string& text) {
    auto chain = parse_chain(text);
    if (!chain) return chain.error();
    return replay(*chain, graph_, *backend_, {}, core::silent(), core::StopToken{});
  }

  /// Changes the text of the chain; then it must be refused, for a reason with this in it.
  void expect_refused(std::string_view what, std::string_view by, const char* why,
                      core::ErrorCode code = core::ErrorCode::kNotEquivalent) {
    std::string text = text_;
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what << " in\n" << text;
    const auto result = replayed(text.replace(at, what.size(), by));
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, code) << result.error().to_string();
    EXPECT_THAT(result.error().to_string(), HasSubstr(why));
  }

  static constexpr const char* kDoubleNegation = R"(
rule double_negation
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)";

  /// Products of a tensor that is negated twice, each time in an equal way.
  static core::Graph make_graph(int products = 2) {
    core::GraphBuilder builder("g");
    const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
    std::vector<core::TensorId> outputs;
    for (int k = 1; k <= products; ++k) {
      const auto once = ops::append(builder, "neg", {x});
      const auto twice = ops::append(builder, "neg", {(*once)[0]});
      const auto w = builder.add_constant(weights(8, 8, static_cast<float>(k)));
      outputs.push_back((*ops::append(builder, "matmul", {(*twice)[0], w}))[0]);
    }
    builder.set_outputs(outputs);
    return *std::move(builder).finish();
  }

  core::Graph graph_ = make_graph();
  const std::unique_ptr<runtime::Backend> backend_ = runtime::make_reference_backend();
  ProofChain chain_;
  core::Graph result_;
  std::string text_;
};

TEST_F(Chain, LeadsToTheResult) {
  ASSERT_EQ(chain_.steps.size(), 4U) << text_;
  EXPECT_EQ(chain_.steps[0].kind, ChainStep::Kind::kMergeDuplicates);
  EXPECT_EQ(chain_.rules.size(), 2U);
  const auto result = replayed(text_);
  ASSERT_TRUE(result.ok()) << result.error().to_string() << "\n" << text_;
  EXPECT_TRUE(same_structure(result->graph, result_));
  EXPECT_EQ(result->proofs, 2U);
}

TEST_F(Chain, IsReadAsItWasWritten) {
  const auto again = parse_chain(text_);
  ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text_;
  EXPECT_EQ(print(*again), text_);
}

TEST_F(Chain, WithAWrongRuleIsRefused) {
  expect_refused("axis=1)", "axis=0)", "", core::ErrorCode::kInvalidInput);
  expect_refused("concat(a, b", "concat(b, a", "step 3 of 4: rule merge_matmuls is not admitted");
  expect_refused("y, z = split(yz; axis=1, sizes=[n, p])",
                 "y, z0 = split(yz; axis=1, sizes=[n, p])\n    z = neg(z0)", "step 3 of 4");
}

TEST_F(Chain, WithAProofLineIsNotBelieved) {
  std::string text = text_;
  const std::size_t begin = text.find("rule merge_matmuls");
  const std::size_t end = text.find("steps ");
  std::string rule = text.substr(begin, end - begin);
  rule.replace(rule.find("concat(a, b"), 11, "concat(b, a");
  auto wrong = rules::parse_rules(rule);
  ASSERT_TRUE(wrong.ok()) << wrong.error().to_string();
  wrong->rules[0].evidence = {rules::Evidence::Kind::kProved, "all-sizes"};
  text.replace(begin, end - begin, rules::print(wrong->rules[0]) + "\n");
  const auto result = replayed(text);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().to_string(), HasSubstr("is not admitted"));
}

TEST_F(Chain, WithAChangedStepIsRefused) {
  expect_refused("nodes=[", "nodes=[7, ", "step 2 of 4: rule double_negation does not match there");
  expect_refused("nodes=[", "nodes=[77, ", "does not match there");
  expect_refused("  merge_duplicates", "  fold_constants",
                 "step 1 of 4: it leads to another graph");
  expect_refused("merge_duplicates result=0x", "merge_duplicates result=0x1",
                 "expected the hash of a graph", core::ErrorCode::kInvalidInput);
  const std::string last = text_.substr(text_.find("fold_constants result"));
  expect_refused(last, "fold_constants result=0x0\n",
                 "step 4 of 4: it leads to another graph than the chain says (constants are");
  expect_refused("input 0x", "input 0x1", "expected the hash of a graph",
                 core::ErrorCode::kInvalidInput);
}

TEST_F(Chain, FromAnotherGraphIsRefused) {
  auto other = chain_;
  other.input += 1;
  const auto result = replay(other, graph_, *backend_, {}, core::silent(), core::StopToken{});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().to_string(), HasSubstr("begins at another graph"));
}

TEST_F(Chain, ThatIsNoneIsRefused) {
  using core::ErrorCode;
  expect_refused("chain 3", "chain 4", "chains of version 4", ErrorCode::kInvalidInput);
  expect_refused("chain 3", "graph g", "2:1: expected `chain`", ErrorCode::kInvalidInput);
  expect_refused("steps 4", "steps 5", "there are 4 steps, not 5", ErrorCode::kInvalidInput);
  expect_refused("apply double_negation", "apply nothing", "the chain has no rule \"nothing\"",
                 ErrorCode::kInvalidInput);
  expect_refused("nodes=[", "nodes=[-", "", ErrorCode::kInvalidInput);
  expect_refused("nodes=[", "nodes=[4294967296, ", "no graph is that large",
                 ErrorCode::kInvalidInput);
  EXPECT_FALSE(parse_chain("").ok());
  // However much of it is missing, it is no shorter chain.
  for (std::size_t size = 0; size + 1 < text_.size(); size += 7) {
    const auto chain = parse_chain(text_.substr(0, size));
    if (chain) {
      EXPECT_FALSE(replayed(text_.substr(0, size)).ok()) << text_.substr(0, size);
    }
  }
}

/// A chain with a lemma of equality saturation: three products as one, by two uses of the rule.
class LemmaChain : public Chain {
 protected:
  void SetUp() override {
    graph_ = make_graph(3);
    const rules::RuleSet baseline = rule_set_of(kDoubleNegation),
                         rules = rule_set_of(kMergeMatmuls);
    verifier::Admission first(baseline, {.allow_unproved = true});
    verifier::Admission second(rules, {.allow_unproved = true});
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    OptimizeOptions options;
    options.measure = false;
    options.search.time_s = 0;
    options.search.strategy = Strategy::kEqsat;
    const auto report =
        optimize(graph_, first, second, *cost, *backend_, options, core::silent(), {});
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    ASSERT_EQ(report->rules_applied.size(), 1u);
    EXPECT_EQ(report->rules_applied[0].rule, "merge_matmuls");
    chain_ = report->chain;
    result_ = report->graph;
    text_ = print(chain_);
  }
};

TEST_F(LemmaChain, LeadsToTheResult) {
  const auto result = replayed(text_);
  ASSERT_TRUE(result.ok()) << result.error().to_string() << "\n" << text_;
  EXPECT_TRUE(same_structure(result->graph, result_));
  const auto again = parse_chain(text_);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(print(*again), text_);
  EXPECT_THAT(text_, HasSubstr("derive equality_saturation uses=2"));
}

TEST_F(LemmaChain, WithAChangedDerivationIsRefused) {
  const std::size_t begin = text_.find("    use ");
  const std::string use = text_.substr(begin, text_.find('\n', begin) + 1 - begin);
  expect_refused("uses=2\n" + use, "uses=1\n", "");
  const std::string second = text_.substr(begin + use.size());
  expect_refused("uses=2\n" + use + second.substr(0, second.find('\n') + 1), "uses=1\n" + use,
                 "equality_saturation does not follow from these");
  expect_refused("sizes=[1, ", "sizes=[2, ", "it does not match there");
  expect_refused("sizes=[1, ", "sizes=[0xffffffffffffffff, ", "rule merge_matmuls: ");
  expect_refused("inputs=[0, ", "inputs=[999, ", "there is no such tensor yet");
  expect_refused("inputs=[0, ", "inputs=[1, ", "use 1 of 2: rule merge_matmuls: it does not match");
  expect_refused("uses=2", "uses=3", "expected `use`", core::ErrorCode::kInvalidInput);
}

TEST_F(LemmaChain, WithAnotherResultIsRefused) {
  // The parts of the product in another order.
  const std::size_t lemma = text_.find("rule equality_saturation");
  const std::size_t target = text_.find("  target", lemma);
  const std::size_t begin = text_.find("concat(", target) + 7;
  const std::string operands = text_.substr(begin, text_.find(';', begin) - begin);
  const std::size_t comma = operands.find(", ");
  std::string text = text_;
  text.replace(begin, operands.size(),
               operands.substr(comma + 2) + ", " + operands.substr(0, comma));
  const auto result = replayed(text);
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_THAT(result.error().to_string(), HasSubstr("does not follow from these"));
}

TEST_F(LemmaChain, AppliedElsewhereIsRefused) {
  expect_refused("apply equality_saturation nodes=[", "apply equality_saturation nodes=[99, ",
                 "equality_saturation does not match there");
  const std::size_t begin = text_.find("  derive");
  const std::size_t end = text_.find("  apply equality_saturation");
  // Without its derivation it is a rule like any other, which the prover would have to prove.
  std::string text = text_;
  text.replace(begin, end - begin, "");
  text.replace(text.find("steps 4"), 7, "steps 3");
  const auto result = replayed(text);
  if (result.ok()) {
    EXPECT_TRUE(same_structure(result->graph, result_));
  } else {
    EXPECT_THAT(result.error().to_string(), HasSubstr("equality_saturation"));
  }
}

TEST(ChainRules, OfOneNameAreToldApart) {
  const rules::RuleSet one =
      rule_set_of("rule r\n  x: [n]\n  source\n    t = neg(x)\n    y = neg(t)\n"
                  "  target\n    y = x\n");
  const rules::RuleSet two =
      rule_set_of("rule r\n  x: [n]\n  source\n    t = relu(x)\n    y = relu(t)\n"
                  "  target\n    y = relu(x)\n");
  ProofChain chain;
  const rules::Match match{{core::TensorId(0)}, {core::NodeId(1)}, {}, {}};
  for (const rules::RuleSet* set : {&one, &two, &one, &two})
    chain.add_rule(set->rules()[0], match, 1);
  ASSERT_EQ(chain.rules.size(), 2U);
  EXPECT_NE(chain.rules[0].name, chain.rules[1].name);
  EXPECT_EQ(chain.steps[2].rule, 0U);
  EXPECT_EQ(chain.steps[3].rule, 1U);
  const auto again = parse_chain(print(chain));
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->steps[3].rule, 1U);
}

}  // namespace
}  // namespace soapstone::search
