// Chains of rewrites: written, read, replayed, and refused once a part of them was changed.
#include "search/proof_chain.h"

#include <gmock/gmock.h>

#include "runtime/backend.h"
#include "search/optimize.h"
#include "tests/search/search_fixture.h"

namespace soapstone::search {
namespace {

using testing::HasSubstr;

class Chain : public ::testing::Test {
 protected:
  void SetUp() override {
    const rules::RuleSet baseline = rules_of(kDoubleNegation), rules = rules_of(kMergeMatmuls);
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

  /// Two products of a tensor that is negated twice, once in each of two equal ways.
  static core::Graph make_graph() {
    core::GraphBuilder builder("g");
    const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
    std::vector<core::TensorId> outputs;
    for (const float seed : {1.0F, 2.0F}) {
      const auto once = ops::append(builder, "neg", {x});
      const auto twice = ops::append(builder, "neg", {(*once)[0]});
      const auto w = builder.add_constant(weights(8, 8, seed));
      outputs.push_back((*ops::append(builder, "matmul", {(*twice)[0], w}))[0]);
    }
    builder.set_outputs(outputs);
    return *std::move(builder).finish();
  }

  const core::Graph graph_ = make_graph();
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
  expect_refused("concat(a, b", "concat(b, a", "step 3 of 4: rule merge_matmuls is not proved");
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
  EXPECT_THAT(result.error().to_string(), HasSubstr("is not proved"));
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
  expect_refused("chain 1", "chain 2", "chains of version 2", ErrorCode::kInvalidInput);
  expect_refused("chain 1", "graph g", "2:1: expected `chain`", ErrorCode::kInvalidInput);
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

TEST(ChainRules, OfOneNameAreToldApart) {
  const rules::RuleSet one = rules_of("rule r\n  x: [n]\n  source\n    t = neg(x)\n    y = neg(t)\n"
                                      "  target\n    y = x\n");
  const rules::RuleSet two =
      rules_of("rule r\n  x: [n]\n  source\n    t = relu(x)\n    y = relu(t)\n"
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
