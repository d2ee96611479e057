// Trials with clocks whose times follow from the graph, so that what is kept is known beforehand.
#include "search/trials/trials.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "cost/models/cost_model.h"
#include "runtime/launches/host_backend.h"
#include "search/equivalence/equivalence.h"
#include "search/optimize.h"
#include "search/trials/enduring_clock.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;

/// A runtime in which a graph takes what a function says, without noise.
class FakeClock final : public TrialClock {
 public:
  using Time = std::function<core::Result<double>(const Graph&)>;
  explicit FakeClock(Time time_us) : time_us_(std::move(time_us)) {}

  std::string runtime() const override { return "fake 1.0"; }
  core::Result<cost::Comparison> compare(const Graph& a, const Graph& b, double,
                                         const core::StopToken&) override {
    ++comparisons;
    SOAPSTONE_ASSIGN_OR_RETURN(const double a_us, time_us_(a));
    SOAPSTONE_ASSIGN_OR_RETURN(const double b_us, time_us_(b));
    const double ratio = a_us / b_us;
    return cost::Comparison{
        {a_us, a_us, a_us, 10}, {b_us, b_us, b_us, 10}, {ratio, ratio - 1e-3, ratio + 1e-3}};
  }

  int comparisons = 0;

 private:
  Time time_us_;
};

std::size_t count(const Graph& graph, std::string_view op) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.order(), [&](core::NodeId id) {
    return graph.node(id).op->name == op && !graph.is_constant_expression(id);
  }));
}

/// A matmul costs 10 us, anything else that runs 1 us.
core::Result<double> by_matmuls(const Graph& graph) {
  double us = 0;
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) us += graph.node(id).op->name == "matmul" ? 10 : 1;
  return us;
}

/// The same, but a split costs as much as two matmuls: merging does not pay.
core::Result<double> splits_are_slow(const Graph& graph) {
  return *by_matmuls(graph) + 20.0 * static_cast<double>(count(graph, "split"));
}

/// Blocks in a row, each with three matmuls that can be merged; block k is `sizes[k]` wide.
Graph blocks(const std::vector<std::int64_t>& sizes) {
  core::GraphBuilder builder("blocks");
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, sizes.front()}, true});
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::int64_t next = sizes[std::min(k + 1, sizes.size() - 1)];
    std::optional<core::TensorId> sum;
    for (int side = 0; side < 3; ++side) {
      const auto w = builder.add_constant(weights(
          sizes[k], next, 0.1F * static_cast<float>(4 * k) + 0.01F * static_cast<float>(side)));
      const auto y = (*ops::append(builder, "matmul", {x, w}))[0];
      const auto r = (*ops::append(builder, "relu", {y}))[0];
      sum = sum ? (*ops::append(builder, "add", {*sum, r}))[0] : r;
    }
    x = *sum;
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

class Trials : public testing::Test {
 protected:
  /// The best candidate that the search finds with a roofline.
  void search_in(Graph base) {
    base_ = std::move(base);
    SearchOptions options{.alpha = 2, .time_s = 0};
    const auto result = search(base_, admission_, *cost_, options, core::silent(), {});
    ASSERT_FALSE(result.best.empty());
    candidate_ = result.best.front();
    cost_us_ = result.cost_before.total_us;
  }

  Replayed run(TrialClock& clock, const TrialOptions& options = {}) {
    return run_trials(base_, candidate_, cost_us_, admission_, clock, options, core::silent(), {},
                      report_);
  }

  std::size_t kept() const {
    return static_cast<std::size_t>(
        std::ranges::count(report_.trials, Verdict::kKept, &Trial::verdict));
  }

  const rules::RuleSet rules_ = rule_set_of(kMergeMatmuls);
  verifier::Admission admission_{rules_, {.allow_unproved = true}};
  std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(runtime::Fusion::kNone);
  Graph base_;
  Candidate candidate_;
  double cost_us_ = 0;
  TrialReport report_;
};

TEST_F(Trials, AllSitesTogetherAreTheCandidate) {
  search_in(blocks({8, 8, 8, 8}));
  const SiteReplay replay(base_, candidate_.steps, admission_);
  ASSERT_GE(replay.sites(), 4U);
  const Replayed all = replay.with(std::vector<bool>(replay.sites(), true));
  EXPECT_EQ(all.graph.hash(), candidate_.graph.hash());
  EXPECT_EQ(all.steps.size(), candidate_.steps.size());
  const Replayed none = replay.with(std::vector<bool>(replay.sites()));
  EXPECT_EQ(none.graph.hash(), base_.hash());
}

TEST_F(Trials, AnyChoiceOfSitesComputesTheSame) {
  search_in(blocks({8, 8, 8}));
  const SiteReplay replay(base_, candidate_.steps, admission_);
  ASSERT_GE(replay.sites(), 3U);
  ASSERT_LE(replay.sites(), 10U);
  const auto backend = runtime::make_reference_backend();
  EquivalenceOptions options;
  options.samples = 1;
  auto check = EquivalenceCheck::make(base_, *backend, options);
  ASSERT_TRUE(check.ok());
  for (std::size_t bits = 0; bits < std::size_t{1} << replay.sites(); ++bits) {
    std::vector<bool> chosen;
    for (std::size_t k = 0; k < replay.sites(); ++k) chosen.push_back((bits >> k) % 2 == 1);
    const Replayed some = replay.with(chosen);
    for (std::size_t k = 0; k < replay.sites(); ++k) EXPECT_LE(some.applied[k], chosen[k]);
    const auto equal = check->run(some.graph, core::silent(), {});
    ASSERT_TRUE(equal.ok());
    EXPECT_TRUE(equal->equal) << bits;
    Graph last = base_;
    for_each_graph(base_, rules_, some.steps, [&](const Step&, const Graph& after) {
      last = after;
      return true;
    });
    EXPECT_EQ(last.hash(), some.graph.hash());
  }
}

TEST_F(Trials, WhatIsFasterStays) {
  search_in(blocks({8, 8, 8, 8}));
  FakeClock clock(by_matmuls);
  const auto result = run(clock);
  EXPECT_EQ(count(result.graph, "matmul"), 4U);
  EXPECT_GT(kept(), 0U);
  EXPECT_EQ(report_.runtime, "fake 1.0");
}

TEST_F(Trials, WhatIsSlowerGoes) {
  search_in(blocks({8, 8, 8, 8}));
  FakeClock clock(splits_are_slow);
  const auto result = run(clock);
  EXPECT_TRUE(result.steps.empty());
  EXPECT_EQ(result.graph.hash(), base_.hash());
  EXPECT_EQ(kept(), 0U);
}

TEST_F(Trials, OneKindMayStayAndAnotherGo) {
  search_in(blocks({4, 4, 16, 16}));
  // Splits of small results are cheap, those of large ones are not.
  FakeClock clock([](const Graph& graph) -> core::Result<double> {
    double us = *by_matmuls(graph);
    for (const core::NodeId id : graph.order()) {
      const core::Node& node = graph.node(id);
      if (node.op->name == "split" &&
          core::element_count(*core::concrete(graph.tensor(node.inputs[0]).type.shape)) > 15)
        us += 50;
    }
    return us;
  });
  const auto result = run(clock);
  const std::size_t matmuls = count(result.graph, "matmul");
  EXPECT_LT(matmuls, 12U);
  EXPECT_GT(matmuls, 4U);
  EXPECT_LT(*by_matmuls(result.graph), *by_matmuls(base_));
}

TEST_F(Trials, WhatTheRuntimeRefusesGoes) {
  search_in(blocks({8, 8, 8}));
  FakeClock clock([](const Graph& graph) -> core::Result<double> {
    if (count(graph, "split") > 0) return core::unsupported("no split here");
    return 1.0;
  });
  const auto result = run(clock);
  EXPECT_TRUE(result.steps.empty());
  ASSERT_FALSE(report_.trials.empty());
  EXPECT_EQ(report_.trials.front().verdict, Verdict::kNotMeasurable);
  EXPECT_EQ(report_.trials.front().note, "no split here");
}

/// Fails at some comparisons, by their number.
class FailingClock final : public TrialClock {
 public:
  FailingClock(TrialClock& clock, std::function<bool(int)> fails)
      : clock_(clock), fails_(std::move(fails)) {}
  std::string runtime() const override { return clock_.runtime(); }
  core::Result<cost::Comparison> compare(const Graph& a, const Graph& b, double budget_s,
                                         const core::StopToken& stop) override {
    if (fails_(++asked)) return core::unavailable("killed (signal 9)");
    return clock_.compare(a, b, budget_s, stop);
  }
  int asked = 0;

 private:
  TrialClock& clock_;
  std::function<bool(int)> fails_;
};

TEST_F(Trials, ARuntimeThatWorksNoMoreEndsThem) {
  search_in(blocks({4, 8, 16, 32}));
  FakeClock works(by_matmuls);
  // It fails at all blocks together, works for the first block, and is gone.
  FailingClock clock(works, [](int asked) { return asked != 3; });
  EnduringClock enduring(clock);
  const auto result = run(enduring);
  EXPECT_EQ(count(result.graph, "matmul"), 10U) << "what was kept until then";
  EXPECT_EQ(kept(), 1U);
  EXPECT_NE(report_.given_up.find("killed (signal 9)"), std::string::npos);
  const int asked = clock.asked;
  EXPECT_FALSE(enduring.compare(base_, base_, 1, {}).ok());
  EXPECT_EQ(clock.asked, asked) << "it is not asked again";
}

TEST_F(Trials, OneFailureIsNoVerdict) {
  search_in(blocks({8, 8, 8, 8}));
  FakeClock works(by_matmuls);
  FailingClock clock(works, [](int asked) { return asked % 2 == 1; });
  EnduringClock enduring(clock);
  const auto result = run(enduring);
  EXPECT_EQ(count(result.graph, "matmul"), 4U);
  EXPECT_TRUE(report_.given_up.empty());
}

TEST_F(Trials, AGraphAtWhichTheRuntimeFailsTwiceIsNotMeasurable) {
  search_in(blocks({4, 4, 16, 16}));
  FakeClock works(by_matmuls);
  FailingClock clock(works, [](int asked) { return asked <= 2; });
  EnduringClock enduring(clock);
  const auto result = run(enduring);
  ASSERT_GT(report_.trials.size(), 1U);
  EXPECT_EQ(report_.trials[0].verdict, Verdict::kNotMeasurable);
  EXPECT_EQ(report_.trials[0].note, "killed (signal 9)");
  EXPECT_GT(kept(), 0U);
  EXPECT_LT(count(result.graph, "matmul"), 12U);
}

TEST_F(Trials, TheirNumberIsLimited) {
  search_in(blocks({4, 4, 16, 16}));
  FakeClock clock(splits_are_slow);
  TrialOptions options;
  options.most = 1;
  run(clock, options);
  EXPECT_EQ(clock.comparisons, 1);
}

/// The whole job with a clock.
class OptimizeWithClock : public Trials {
 protected:
  OptimizeReport optimize_in(const Graph& graph, TrialClock& clock, const char* baseline_rules,
                             TrialOptions trials = {}) {
    const rules::RuleSet baseline = rule_set_of(baseline_rules);
    verifier::Admission first(baseline, {.allow_unproved = true});
    const auto backend = runtime::make_reference_backend();
    OptimizeOptions options;
    options.clock = &clock;
    options.trials = std::move(trials);
    options.search.time_s = 0;
    options.search.alpha = 2;
    auto report = optimize(graph, first, admission_, *cost_, *backend, options, core::silent(), {});
    EXPECT_TRUE(report.ok());
    return *std::move(report);
  }
};

const char* const kTwoRelus = R"(graph g
  x: f32[64, 64]
  a = relu(x)
  b = relu(a)
  y = neg(b)
  return y
)";

const char* const kReluTwice = R"(
rule relu_as_max
  x: [n, m]
  source
    y = relu(x)
  target
    y = max(x, x)
  checked 2^61-1, 10 sizes; floats: exact

rule relu_twice
  x: [n, m]
  source
    t = relu(x)
    y = relu(t)
  target
    y = relu(x)
  checked 2^61-1, 10 sizes; floats: exact
)";

TEST_F(OptimizeWithClock, AFasterResultIsTheResult) {
  FakeClock clock(by_matmuls);
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "");
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_EQ(report.result, ResultKind::kRewritten);
  ASSERT_TRUE(report.trials.has_value());
  EXPECT_FALSE(report.trials->trials.empty());
  ASSERT_TRUE(report.speedup.has_value());
  EXPECT_GT(report.speedup->low, 1);
  ASSERT_TRUE(report.equivalence.has_value());
  EXPECT_TRUE(report.equivalence->equal);
}

TEST_F(OptimizeWithClock, WhatIsNotFasterInTheRuntimeIsNotHandedOut) {
  FakeClock clock(splits_are_slow);
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "");
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_NE(report.outcome, Outcome::kImproved);
}

TEST_F(OptimizeWithClock, ABaselineRuleThatHarmsIsTakenOut) {
  // max is slow in this runtime.
  FakeClock clock([](const Graph& g) -> core::Result<double> {
    return *by_matmuls(g) + 10.0 * static_cast<double>(count(g, "max"));
  });
  const auto report = optimize_in(graph_of(kTwoRelus), clock, kReluTwice);
  EXPECT_EQ(count(report.graph, "max"), 0U);
  EXPECT_EQ(count(report.graph, "relu"), 1U);
  EXPECT_EQ(report.result, ResultKind::kBaseline);
}

TEST_F(OptimizeWithClock, WhatWasKeptBeforeTheRuntimeWasGoneIsTheResult) {
  FakeClock works(by_matmuls);
  FailingClock clock(works, [](int asked) { return asked != 3; });
  const auto report = optimize_in(blocks({4, 8, 16, 32}), clock, "");
  EXPECT_EQ(report.result, ResultKind::kRewritten);
  EXPECT_FALSE(report.speedup.has_value()) << "it was never timed as a whole";
  EXPECT_EQ(count(report.graph, "matmul"), 10U);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("was given up")));
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("could not be timed")));
}

TEST_F(OptimizeWithClock, ARuntimeThatNeverWorksLeavesTheOriginal) {
  FakeClock works(by_matmuls);
  FailingClock clock(works, [](int) { return true; });
  const auto report = optimize_in(blocks({4, 8, 16, 32}), clock, "");
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("killed (signal 9)")));
}

TEST_F(OptimizeWithClock, ABaselineRuleWhoseResultTheRuntimeRefusesIsTakenOut) {
  FakeClock clock([](const Graph& g) -> core::Result<double> {
    if (count(g, "max") > 0) return core::unsupported("no kernel for max");
    return by_matmuls(g);
  });
  const auto report = optimize_in(graph_of(kTwoRelus), clock, kReluTwice);
  EXPECT_EQ(count(report.graph, "max"), 0U);
  EXPECT_EQ(report.result, ResultKind::kBaseline);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("no kernel for max")));
}

/// A roofline with one entry that was measured wrongly: what holds a split costs 100 us too much.
class WrongSplits final : public cost::CostModel {
 public:
  cost::GraphCost graph_cost(const Graph& graph) override {
    auto cost = right_->graph_cost(graph);
    if (count(graph, "split") > 0) cost.total_us += 100;
    return cost;
  }
  std::vector<Item> breakdown(const Graph& graph) override { return right_->breakdown(graph); }
  std::string description() const override { return "wrong"; }

 private:
  const std::unique_ptr<cost::CostModel> right_ = cost::make_roofline_cost(runtime::Fusion::kNone);
};

TEST_F(OptimizeWithClock, AWrongCostHidesNoGain) {
  FakeClock clock(by_matmuls);
  cost_ = std::make_unique<WrongSplits>();
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "");
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_EQ(count(report.graph, "matmul"), 3U);
  EXPECT_GT(report.cost_after.total_us, report.cost_before.total_us);
  ASSERT_EQ(report.trials->trials.size(), 1U);
  const Trial& trial = report.trials->trials[0];
  EXPECT_EQ(trial.what, "merge_matmuls");
  EXPECT_TRUE(trial.is_against_costs);
  EXPECT_LT(trial.predicted, 1);
  EXPECT_EQ(trial.verdict, Verdict::kKept);
  ASSERT_TRUE(report.equivalence.has_value());
  EXPECT_TRUE(report.equivalence->equal);
}

TEST_F(OptimizeWithClock, ARightCostThatIsDoubtedCostsOneTrial) {
  FakeClock clock(splits_are_slow);
  cost_ = std::make_unique<WrongSplits>();
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "");
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  ASSERT_EQ(report.trials->trials.size(), 1U);
  EXPECT_TRUE(report.trials->trials[0].is_against_costs);
  EXPECT_EQ(report.trials->trials[0].verdict, Verdict::kLeftOut);
}

TEST_F(OptimizeWithClock, WhatTrialsHaveLeftOutIsNotTriedAgain) {
  FakeClock clock(splits_are_slow);
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "");
  for (const Trial& trial : report.trials->trials) EXPECT_FALSE(trial.is_against_costs);
}

class OptimizeWithForms : public OptimizeWithClock {
 protected:
  OptimizeReport optimize_with_form(const Graph& graph, FakeClock& clock) {
    TrialOptions trials;
    trials.forms = {"merge_matmuls"};
    return optimize_in(graph, clock, "", trials);
  }
};

TEST_F(OptimizeWithForms, AFormIsTriedWhereverItMatches) {
  FakeClock clock(by_matmuls);
  const auto report = optimize_with_form(blocks({8, 8, 8}), clock);
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_EQ(report.search.graphs_built, 0U);  // The search does not use it.
  ASSERT_EQ(report.trials->trials.size(), 1U);
  // The three matmuls of each block, two at a time: what one site makes is where the next one is.
  EXPECT_EQ(report.trials->trials[0].sites, 6U);
  EXPECT_EQ(count(report.graph, "matmul"), 3U);
  EXPECT_TRUE(report.equivalence->equal);
  // The search begins behind the form, the report before it.
  EXPECT_GT(report.cost_before.launches, report.search.cost_before.launches);
}

TEST_F(OptimizeWithForms, LastFormsAreTriedOnWhatTheSearchHasMade) {
  FakeClock clock(by_matmuls);
  TrialOptions trials;
  trials.last_forms = {"merge_matmuls"};
  const auto report = optimize_in(blocks({8, 8, 8}), clock, "", trials);
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_EQ(report.search.graphs_built, 0U);  // The search does not use it.
  ASSERT_EQ(report.trials->trials.size(), 1U);
  EXPECT_EQ(report.trials->trials[0].what, "merge_matmuls");
  EXPECT_EQ(count(report.graph, "matmul"), 3U);
  EXPECT_EQ(report.steps.size(), 6U);
}

TEST_F(OptimizeWithForms, AFormThatIsNotFasterIsLeftOut) {
  FakeClock clock(splits_are_slow);
  const auto report = optimize_with_form(blocks({8, 8, 8}), clock);
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  ASSERT_FALSE(report.trials->trials.empty());
  EXPECT_EQ(report.trials->trials[0].verdict, Verdict::kLeftOut);
}

TEST_F(OptimizeWithForms, OneKindOfSitesCanStayAlone) {
  // Splits are slow where the parts are wide.
  FakeClock clock([](const Graph& graph) -> core::Result<double> {
    double us = *by_matmuls(graph);
    for (const core::NodeId id : graph.order()) {
      const core::Node& node = graph.node(id);
      if (node.op->name == "split" &&
          graph.tensor(node.outputs[0]).type.shape[1] == core::Polynomial(16))
        us += 100;
    }
    return us;
  });
  const auto report = optimize_with_form(blocks({4, 4, 16, 16}), clock);
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  // The three matmuls of the narrow block are one, those of the three others as they were.
  EXPECT_EQ(count(report.graph, "split"), 2U);
  EXPECT_EQ(count(report.graph, "matmul"), 10U);
}

}  // namespace
}  // namespace soapstone::search
