// A judge's findings are used: differences name the rule, refusals are reported, and the search
// goes on without the rule.
#include "search/equivalence/judgment.h"

#include <gmock/gmock.h>

#include <optional>

#include "core/base/stop_scope.h"
#include "search/optimize.h"
#include "search_fixture.h"
#include "tests/search/fake_judge.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Literal;
using ::testing::HasSubstr;

const char* const kJudgedSum = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(x, z)\n  return y\n";
const char* const kJudgedSwapped =
    "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(z, x)\n  return y\n";
const char* const kJudgedDifference =
    "graph g\n  x: f32[4]\n  z: f32[4]\n  y = sub(x, z)\n  return y\n";

JudgeReport judged(FakeJudge& judge, const Graph& original, const Graph& rewritten) {
  return Judgment(judge, original, {}).run(rewritten, core::silent(), core::StopToken{});
}

TEST(Judgment, EqualFilesAreEqual) {
  FakeJudge judge(graph_of(kJudgedSum));
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_TRUE(report.looked);
  EXPECT_TRUE(report.equivalence.equal);
  EXPECT_EQ(report.equivalence.samples, kSampleKinds);
  EXPECT_EQ(report.runtime, "Fake 1.0");
}

TEST(Judgment, FindsWhatTheWriterDoes) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.change = [](const Graph&) { return graph_of(kJudgedDifference); };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum));
  EXPECT_TRUE(report.looked);
  EXPECT_FALSE(report.equivalence.equal);
  ASSERT_TRUE(report.equivalence.difference);
  EXPECT_EQ(report.equivalence.difference->output, "y");
  EXPECT_THAT(report.equivalence.difference->input, HasSubstr("ordinary values"));
}

TEST(Judgment, RefusingTheOriginalIsNotLooking) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_original = true;
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedDifference));
  EXPECT_FALSE(report.looked);
  EXPECT_EQ(report.reason, "Fake 1.0 does not run the original: no kernel for Secret");
  EXPECT_EQ(judge.written, 0);
}

TEST(Judgment, RefusingTheResultAloneIsADifference) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_rewritten = true;
  const auto refused = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum));
  EXPECT_TRUE(refused.looked);
  EXPECT_FALSE(refused.equivalence.equal);
  EXPECT_THAT(refused.equivalence.difference->what, HasSubstr("which runs the original"));
  judge.refuses_rewritten = false;
  judge.breaks = true;
  EXPECT_FALSE(judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum)).equivalence.equal);
}

/// A judge whose runs a wish to stop cuts short, as it does those of a process.
class StoppedJudge final : public FakeJudge {
 public:
  StoppedJudge(core::Graph original, core::StopToken& stop, int last)
      : FakeJudge(std::move(original)), stop_(stop), last_(last) {}
  core::Result<std::vector<NamedResult>> run(Model model,
                                             std::span<const Literal> inputs) override {
    if (++runs > last_) stop_.request_stop();
    if (core::StopScope::stopped()) return core::StopScope::interrupted();
    return FakeJudge::run(model, inputs);
  }
  int runs = 0;

 private:
  core::StopToken& stop_;
  int last_;
};

TEST(Judgment, WhatAWishToStopCutsShortIsNoDifference) {
  const Graph sum = graph_of(kJudgedSum);
  for (int last = 0; last < 8; ++last) {
    core::StopToken stop;
    StoppedJudge judge(sum, stop, last);
    Judgment judgment(judge, sum, {});
    const auto report = judgment.run(graph_of(kJudgedSwapped), core::silent(), stop);
    EXPECT_TRUE(report.looked);
    EXPECT_TRUE(report.equivalence.equal) << last;
    EXPECT_GE(report.equivalence.samples, 1) << "the first one is looked at in any case";
    EXPECT_LE(judge.runs, last + 4) << "nothing is begun afterward";
    const auto again = judgment.run(graph_of(kJudgedSwapped), core::silent(), {});
    EXPECT_TRUE(again.equivalence.equal);
    EXPECT_EQ(again.equivalence.samples, kSampleKinds);
  }
}

TEST(Judgment, ABrokenRuntimeIsNotLooking) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.breaks = true;
  const Graph sum = graph_of(kJudgedSum);
  Judgment judgment(judge, sum, {});
  ASSERT_TRUE(judgment.refusal().empty());
  judge.refuses_original = true;  // from now on nothing works
  const auto report = judgment.run(sum, core::silent(), core::StopToken{});
  EXPECT_FALSE(report.looked);
}

TEST(Judgment, ResultsMustHaveTheTypesOfTheOriginal) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.change = [](const Graph&) {
    return graph_of(
        "graph g\n  x: f32[4]\n  z: f32[4]\n  s = add(x, z)\n  y = reshape(s; shape=[2, 2])\n"
        "  return y\n");
  };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum));
  EXPECT_FALSE(report.equivalence.equal);
  EXPECT_THAT(report.equivalence.difference->what, HasSubstr("f32[2, 2]"));
}

TEST(Judgment, ResultsMustHaveTheNamesOfTheOriginal) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.change = [](const Graph&) {
    return graph_of("graph g\n  x: f32[4]\n  z: f32[4]\n  w = add(x, z)\n  return w\n");
  };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum));
  EXPECT_FALSE(report.equivalence.equal);
  EXPECT_THAT(report.equivalence.difference->what, HasSubstr("result 1 (w)"));
}

/// Where the runtime gives the original other types than this program knows of, both files may
/// agree and yet what was done between them be wrong.
TEST(Judgment, TheOriginalMustHaveTheTypesThatWereRead) {
  Graph flat = graph_of(
      "graph g\n  x: f32[4]\n  z: f32[4]\n  s = add(x, z)\n  y = reshape(s; shape=[2, 2])\n"
      "  return y\n");
  FakeJudge judge(flat);
  judge.change = [&](const Graph&) { return flat; };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum));
  EXPECT_TRUE(report.looked);
  EXPECT_FALSE(report.equivalence.equal);
  EXPECT_THAT(report.equivalence.difference->what,
              HasSubstr("f32[2, 2] as result 1 (y) of the original, which is f32[4] here"));
}

/// A model that the runtime takes only once it has optimized it is compared as deployed.
TEST(Judgment, WhatRunsOptimizedAloneIsCompared) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_as_written = true;
  const auto equal = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_TRUE(equal.looked);
  EXPECT_TRUE(equal.equivalence.equal);
  EXPECT_THAT(equal.note, HasSubstr("no kernel for i16"));
  const auto other = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedDifference));
  EXPECT_TRUE(other.looked);
  EXPECT_FALSE(other.equivalence.equal);
  judge.refuses_rewritten = true;
  const auto refused = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_TRUE(refused.looked);
  EXPECT_FALSE(refused.equivalence.equal);
  EXPECT_THAT(refused.equivalence.difference->what, HasSubstr("which runs the original"));
}

bool swaps(const Graph& graph) {
  const core::Node& sum = graph.node(graph.order().front());
  return sum.inputs[0] == graph.inputs()[1];
}

TEST(Judgment, FindsWhatTheRuntimeMakesOfTheResultAlone) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.optimize = [](const Graph& graph) -> core::Result<Graph> {
    return swaps(graph) ? graph_of(kJudgedDifference) : graph;
  };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_TRUE(report.looked);
  EXPECT_FALSE(report.equivalence.equal);
  ASSERT_TRUE(report.equivalence.difference);
  EXPECT_THAT(report.equivalence.difference->what, HasSubstr("the runtime's own optimizations"));
  EXPECT_TRUE(judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSum)).equivalence.equal);
}

/// Whatever the runtime makes of the original, too, is no fault of the result.
TEST(Judgment, WhatTheRuntimeMakesOfBothIsNoDifference) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.optimize = [](const Graph&) -> core::Result<Graph> { return graph_of(kJudgedDifference); };
  EXPECT_TRUE(judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped)).equivalence.equal);
  judge.optimize = [](const Graph&) -> core::Result<Graph> {
    return core::unsupported("the optimizer is out of order");
  };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_TRUE(report.equivalence.equal);
  EXPECT_THAT(report.note, HasSubstr("runs neither file: the optimizer is out of order"));
}

TEST(Judgment, AResultThatCannotBeOptimizedIsADifference) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.optimize = [](const Graph& graph) -> core::Result<Graph> {
    if (swaps(graph)) return core::unsupported("a fusion fails");
    return graph;
  };
  const auto report = judged(judge, graph_of(kJudgedSum), graph_of(kJudgedSwapped));
  EXPECT_FALSE(report.equivalence.equal);
  ASSERT_TRUE(report.equivalence.difference);
  EXPECT_THAT(report.equivalence.difference->what, HasSubstr("a fusion fails"));
}

/// The sum and a constant that nothing drowns, as zeros as inputs leave it alone.
Graph sum_off_by(float off) {
  const Graph sum = graph_of(kJudgedSum);
  core::GraphBuilder builder(sum);
  const auto constant =
      builder.add_constant(std::make_shared<const Literal>(Literal::scalar(1 + off)));
  builder.set_outputs({(*ops::append(builder, "add", {sum.outputs()[0], constant}))[0]});
  return std::move(builder).finish().value();
}

/// Inputs of zeros have no neighbors, so only weights show how much rounding matters there.
TEST(Judgment, MovedWeightsShowWhatRoundingDoes) {
  const auto judged_with = [](float moved, float off) {
    FakeJudge judge(sum_off_by(0));
    if (moved != 0) judge.moved = [moved](const Graph&) { return sum_off_by(moved); };
    judge.change = [off](const Graph&) { return sum_off_by(off); };
    return judged(judge, sum_off_by(0), sum_off_by(0)).equivalence.equal;
  };
  EXPECT_FALSE(judged_with(0, 1e-4F));
  EXPECT_TRUE(judged_with(4e-5F, 1e-4F)) << "rounding explains it";
  EXPECT_FALSE(judged_with(4e-5F, 1e-3F)) << "rounding explains less";
}

/// Where rounding matters in few places, as at two scores of attention that are nearly the same,
/// most runs do not show it. The first counts eight times, others, which have noise, once.
TEST(Judgment, RoundingThatFewRunsShowIsLookedForAgain) {
  const auto judged_with = [](std::uint64_t shown_by, float off) {
    FakeJudge judge(sum_off_by(0));
    judge.moved = [&](const Graph&) {
      return sum_off_by(judge.moves == shown_by ? (shown_by == 0 ? 4e-5F : 2e-4F) : 0);
    };
    judge.change = [off](const Graph&) { return sum_off_by(off); };
    return judged(judge, sum_off_by(0), sum_off_by(0)).equivalence.equal;
  };
  EXPECT_TRUE(judged_with(0, 1e-4F));
  EXPECT_TRUE(judged_with(5, 1e-4F));
  EXPECT_FALSE(judged_with(5, 1e-3F));
  EXPECT_FALSE(judged_with(1000, 1e-4F)) << "no run shows it";
}

/// The mean of x + 1 in 4096 places, and behind it, if asked for, what is `off` where x is 0, and
/// else nothing.
Graph mean_off_at_zeros(float factor, std::optional<float> off) {
  core::GraphBuilder builder("mean");
  const auto constant = [&](float value) {
    return builder.add_constant(std::make_shared<const Literal>(Literal::scalar(value)));
  };
  const auto append = [&](const char* op, std::vector<core::TensorId> inputs,
                          const core::Attributes& attributes = {}) {
    return (*ops::append(builder, op, std::move(inputs), attributes))[0];
  };
  const core::Attributes over{{"axes", std::vector<core::Polynomial>{1}}};
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 4096}, true});
  const auto sum = append("reduce_sum", {append("add", {x, constant(1)})}, over);
  const auto mean = append("mul", {sum, constant(factor / 4096)});
  if (!off) {
    builder.set_outputs({mean});
    return std::move(builder).finish().value();
  }
  const auto squares = append("reduce_sum", {append("mul", {x, x})}, over);
  const auto at_zeros = append("exp", {append("neg", {squares})});
  const auto error = append("mul", {at_zeros, constant(*off)});
  builder.set_outputs({append("add", {mean, error})});
  return std::move(builder).finish().value();
}

/// Terms that are all alike are rounded alike, so a kernel that adds them up one by one is further
/// off than chance would have it.
TEST(Judgment, SumsOfEqualTermsMayBeFurtherOff) {
  const Graph original = mean_off_at_zeros(1, std::nullopt), rewritten = mean_off_at_zeros(1, 0);
  const auto judged_with = [&](float off, bool as_deployed) {
    const auto off_if_rewritten = [&, off](const Graph& graph) {
      return graph.hash() == rewritten.hash() ? mean_off_at_zeros(1, off) : graph;
    };
    FakeJudge judge(original);
    judge.moved = [](const Graph&) { return mean_off_at_zeros(1 + 0x1p-23F, std::nullopt); };
    if (as_deployed)
      judge.optimize = off_if_rewritten;
    else
      judge.change = off_if_rewritten;
    return judged(judge, original, rewritten).equivalence.equal;
  };
  for (const bool as_deployed : {false, true}) {
    EXPECT_TRUE(judged_with(0, as_deployed));
    EXPECT_TRUE(judged_with(4e-5F, as_deployed));
    EXPECT_FALSE(judged_with(4e-3F, as_deployed));
  }
}

const char* const kDropsANegation = R"(
# Wrong: the negation is lost.
rule drop_negation
  x: [n, m]
  source
    t = neg(x)
    u = relu(t)
  target
    u = relu(x)
  checked 2^61-1, 10 sizes; floats: exact
)";

class Loop : public testing::Test {
 protected:
  core::Result<OptimizeReport> try_run(const Graph& graph, const std::string& baseline_rules,
                                       const std::string& search_rules, Judge* judge,
                                       bool allow_unchecked) {
    const rules::RuleSet baseline = rule_set_of(baseline_rules), rules = rule_set_of(search_rules);
    verifier::Admission first(baseline, {.allow_unproved = true});
    verifier::Admission second(rules, {.allow_unproved = true});
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    const auto backend = runtime::make_reference_backend();
    OptimizeOptions options;
    options.measure = measure_;
    options.search.time_s = 0;
    options.search.alpha = 2;
    options.judge = judge;
    options.allow_unchecked = allow_unchecked;
    options.opaque_nodes = "the operator mine.Secret is not understood here";
    return optimize(graph, first, second, *cost, *backend, options, core::silent(),
                    core::StopToken{});
  }
  OptimizeReport run(const Graph& graph, const std::string& baseline_rules,
                     const std::string& search_rules, Judge* judge = nullptr,
                     bool allow_unchecked = false) {
    auto report = try_run(graph, baseline_rules, search_rules, judge, allow_unchecked);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    return *std::move(report);
  }

  bool measure_ = false;

  const Graph negated_ = graph_of(R"(graph g
  x: f32[64, 64]
  a = neg(x)
  b = neg(a)
  c = neg(b)
  y = relu(c)
  return y
)");
};

TEST_F(Loop, AWrongRuleIsTakenOutAndTheRestStays) {
  const auto report =
      run(negated_, "", std::string(kDropsANegation) + std::string(kDoubleNegation));
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  ASSERT_EQ(report.taken_out.size(), 1U);
  EXPECT_EQ(report.taken_out[0].rule, "drop_negation");
  EXPECT_EQ(report.taken_out[0].found_by, "the check here");
  EXPECT_FALSE(report.taken_out[0].is_baseline);
  EXPECT_THAT(report.taken_out[0].difference.input, HasSubstr("random input"));
  ASSERT_EQ(report.rules_applied.size(), 1U);
  EXPECT_EQ(report.rules_applied[0].rule, "double_negation");
  EXPECT_TRUE(report.equivalence->equal);
  EXPECT_EQ(report.graph.order().size(), 2U);
}

TEST_F(Loop, AWrongRuleOfTheBaselineIsTakenOutByName) {
  const auto report =
      run(negated_, std::string(kDropsANegation) + std::string(kDoubleNegation), kMergeMatmuls);
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report.result, ResultKind::kBaseline);
  ASSERT_EQ(report.taken_out.size(), 1U);
  EXPECT_EQ(report.taken_out[0].rule, "drop_negation");
  EXPECT_TRUE(report.taken_out[0].is_baseline);
  EXPECT_EQ(report.simplify.rules_applied.count("drop_negation"), 0U);
  EXPECT_EQ(report.simplify.rules_applied.count("double_negation"), 1U);
}

/// The judge's runtime has a fault in one operator, which only the rewritten graph uses.
TEST_F(Loop, WhatTheJudgeFindsIsTakenOut) {
  const auto graph = parallel_matmuls(3);
  FakeJudge judge(graph);
  judge.change = [](const Graph& rewritten) {
    const bool splits = std::ranges::any_of(
        rewritten.order(), [&](core::NodeId id) { return rewritten.node(id).op->name == "split"; });
    if (!splits) return rewritten;
    core::GraphBuilder builder(rewritten);
    std::vector<core::TensorId> outputs(rewritten.outputs().begin(), rewritten.outputs().end());
    std::swap(outputs[0], outputs[1]);
    builder.set_outputs(outputs);
    return std::move(builder).finish().value();
  };
  const auto report = run(graph, "", kMergeMatmuls, &judge);
  ASSERT_GE(report.taken_out.size(), 1U);
  EXPECT_EQ(report.taken_out[0].rule, "merge_matmuls");
  EXPECT_EQ(report.taken_out[0].found_by, "Fake 1.0");
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
}

TEST_F(Loop, AFaultOfTheWriterIsNotExplainedByARule) {
  const auto graph = parallel_matmuls(3);
  FakeJudge judge(graph);
  judge.change = [](const Graph& rewritten) {
    core::GraphBuilder builder(rewritten);
    std::vector<core::TensorId> outputs(rewritten.outputs().begin(), rewritten.outputs().end());
    outputs[0] = (*ops::append(builder, "neg", {outputs[0]}))[0];
    builder.set_outputs(outputs);
    return std::move(builder).finish().value();
  };
  const auto report = run(graph, "", kMergeMatmuls, &judge);
  EXPECT_EQ(report.outcome, Outcome::kNotEquivalent);
  EXPECT_TRUE(report.taken_out.empty());
  EXPECT_EQ(report.offending_rule, "reading and writing the model");
}

TEST_F(Loop, AnEqualResultIsJudgedAndKept) {
  const auto graph = parallel_matmuls(3);
  FakeJudge judge(graph);
  const auto report = run(graph, "", kMergeMatmuls, &judge);
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  ASSERT_TRUE(report.judge);
  EXPECT_TRUE(report.judge->looked);
  EXPECT_TRUE(report.taken_out.empty());
}

/// Two negations before and behind an operator that nobody knows, which may also read what is no
/// tensor.
Graph around_opaque(bool reads_sequence = false) {
  core::GraphBuilder builder("around");
  const core::TensorType type{core::DataType::kFloat32, {64, 64}, true};
  const auto twice = [&](core::TensorId x) {
    const auto minus = ops::append(builder, "neg", {x});
    const auto plus = ops::append(builder, "neg", {(*minus)[0]});
    return (*ops::append(builder, "relu", {(*plus)[0]}))[0];
  };
  const auto before = twice(builder.add_input("x", type));
  const core::Attributes attributes{{"op_type", std::string("Secret")},
                                    {"domain", std::string("mine")},
                                    {"proto", std::string()}};
  std::vector<core::TensorId> inputs = {before};
  if (reads_sequence) inputs.push_back(builder.add_input("s", {core::DataType::kOther, {}, true}));
  const auto secret = builder.add_node(ops::opaque_schema(), attributes, inputs, {type}, "secret");
  builder.set_outputs({twice(secret[0])});
  return std::move(builder).finish().value();
}

std::size_t negations(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.order(), [&](core::NodeId id) { return graph.node(id).op->name == "neg"; }));
}

/// Nobody here can make a sequence, so that a run that is refused tells nothing of the model.
TEST_F(Loop, ARefusalOfInputsThatNobodyCanMakeIsNoError) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_original = true;
  const Graph graph = around_opaque(true);
  const auto report = try_run(graph, kDoubleNegation, "", &judge, false);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(negations(report->graph), 2U) << "gone before it, not behind";
  judge.refuses_to_load = true;
  const auto refused = try_run(graph, kDoubleNegation, "", &judge, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnsupported);
}

/// A worker that crashes has said nothing of the model.
TEST_F(Loop, ABrokenJudgeIsNoRefusal) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.breaks_original = true;
  const auto report = try_run(around_opaque(), kDoubleNegation, "", &judge, false);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(negations(report->graph), 2U);
}

/// By the baseline and by the search alike.
class BehindOpaque : public Loop, public testing::WithParamInterface<bool> {
 protected:
  core::Result<OptimizeReport> tried(Judge* judge, bool allow_unchecked) {
    return GetParam() ? try_run(around_opaque(), kDoubleNegation, "", judge, allow_unchecked)
                      : try_run(around_opaque(), "", kDoubleNegation, judge, allow_unchecked);
  }
  OptimizeReport optimized(Judge* judge = nullptr, bool allow_unchecked = false) {
    auto report = tried(judge, allow_unchecked);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    return *std::move(report);
  }
};

INSTANTIATE_TEST_SUITE_P(By, BehindOpaque, testing::Bool(), [](const auto& by) {
  return std::string(by.param ? "Baseline" : "Search");
});

TEST_P(BehindOpaque, NothingIsRewrittenUnchecked) {
  const auto report = optimized();
  EXPECT_EQ(negations(report.graph), 2U) << "gone before it, not behind";
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("--allow-unchecked")));
}

TEST_P(BehindOpaque, AllIsRewrittenIfAllowed) {
  const auto report = optimized(nullptr, true);
  EXPECT_EQ(negations(report.graph), 0U);
  EXPECT_THAT(report.notes, Not(::testing::Contains(HasSubstr("--allow-unchecked"))));
}

/// For a runtime that knows the operator: it is a relu.
Graph understood(const Graph& graph) {
  core::GraphBuilder builder(graph);
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (!ops::is_opaque(node)) continue;
    builder.replace_uses(node.outputs[0], (*ops::append(builder, "relu", {node.inputs[0]}))[0]);
  }
  return std::move(builder).finish().value();
}

TEST_P(BehindOpaque, AllIsRewrittenIfTheJudgeRunsIt) {
  FakeJudge judge(understood(around_opaque()));
  judge.change = understood;
  const auto report = optimized(&judge);
  EXPECT_EQ(negations(report.graph), 0U);
  ASSERT_TRUE(report.judge);
  EXPECT_TRUE(report.judge->looked);
}

TEST_P(BehindOpaque, AModelThatTheJudgeRefusesIsAnError) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_original = true;
  const auto report = tried(&judge, false);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(report.error().message, HasSubstr("Secret is not understood"));
  EXPECT_THAT(report.error().message, HasSubstr("no kernel for Secret"));
}

TEST_P(BehindOpaque, ARefusalIsNoErrorWhereThatIsAllowed) {
  FakeJudge judge(graph_of(kJudgedSum));
  judge.refuses_original = true;
  const auto report = optimized(&judge, true);
  EXPECT_EQ(negations(report.graph), 0U);
  ASSERT_TRUE(report.judge);
  EXPECT_FALSE(report.judge->looked);
}

/// Our executor runs the parts around it, which is no time of the model.
TEST_P(BehindOpaque, WhatDoesNotRunWholeIsNotTimed) {
  measure_ = true;
  const auto report = optimized();
  EXPECT_FALSE(report.latency_before || report.latency_after || report.speedup);
  EXPECT_FALSE(report.baseline_speedup);
  EXPECT_EQ(report.opaque_nodes, 1U);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("nothing was timed")));
}

}  // namespace
}  // namespace soapstone::search
