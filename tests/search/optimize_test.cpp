// The result of an optimization that gains nothing, and of one that is interrupted.
#include "search/optimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "search_fixture.h"

namespace soapstone::search {
namespace {

/// Asks to stop when a stage begins.
class StopAt final : public core::ProgressSink {
 public:
  StopAt(std::string stage, core::StopToken& stop) : stage_(std::move(stage)), stop_(stop) {}
  void stage(std::string_view name) override {
    if (name == stage_) stop_.request_stop();
  }
  void update(std::uint64_t, std::uint64_t, std::string_view) override {}
  void log(core::LogLevel, std::string_view) override {}

 private:
  std::string stage_;
  core::StopToken& stop_;
};

class OptimizeResult : public testing::Test {
 protected:
  OptimizeReport run(const core::Graph& graph, const std::string& stop_at = "never",
                     bool measure = false) {
    const rules::RuleSet baseline = rule_set_of(kDoubleNegation),
                         rules = rule_set_of(kMergeMatmuls);
    verifier::Admission first(baseline, {.allow_unproved = true});
    verifier::Admission second(rules, {.allow_unproved = true});
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    const auto backend = runtime::make_reference_backend();
    OptimizeOptions options;
    options.measure = measure;
    options.measure_time_s = 0.2;
    options.search.time_s = 0;
    options.search.alpha = 2;
    options.writable = writable_;
    core::StopToken stop;
    StopAt progress(stop_at, stop);
    auto report = optimize(graph, first, second, *cost, *backend, options, progress, stop);
    EXPECT_TRUE(report.ok());
    return *std::move(report);
  }

  /// For OptimizeOptions.
  std::function<core::Status(const core::Graph&)> writable_;

  /// Two negations that the baseline removes, and nothing for the search.
  const core::Graph negated_ = graph_of(R"(graph g
  x: f32[64, 64]
  a = neg(x)
  b = neg(a)
  y = relu(b)
  return y
)");
  const core::Graph plain_ = graph_of(R"(graph g
  x: f32[4, 8]
  y = relu(x)
  return y
)");
};

TEST_F(OptimizeResult, AFasterBaselineIsKeptAndVerified) {
  const OptimizeReport report = run(negated_);
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report.result, ResultKind::kBaseline);
  EXPECT_EQ(report.graph.order().size(), 1U);
  ASSERT_TRUE(report.baseline_gain);
  EXPECT_GT(*report.baseline_gain, 1.0);
  ASSERT_TRUE(report.equivalence) << "what is written is checked";
  EXPECT_TRUE(report.equivalence->equal);
  EXPECT_EQ(report.chain.steps.size(), report.simplify.steps.size());
}

TEST_F(OptimizeResult, AMeasuredBaselineHasToBeFaster) {
  const OptimizeReport report = run(negated_, "never", /*measure=*/true);
  ASSERT_TRUE(report.baseline_speedup);
  EXPECT_EQ(report.result == ResultKind::kBaseline, report.baseline_speedup->low > 1);
}

TEST_F(OptimizeResult, WithoutAnyGainTheOriginalIsTheResult) {
  const OptimizeReport report = run(plain_);
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_FALSE(report.baseline_gain) << "there was nothing to compare";
  EXPECT_FALSE(report.equivalence);
}

TEST_F(OptimizeResult, WhatTheSearchFindsIsTheResult) {
  const OptimizeReport report = run(parallel_matmuls(3));
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_EQ(report.result, ResultKind::kRewritten);
  double gain_us = 0;
  for (const Step& step : report.steps) gain_us += step.gain_us;
  EXPECT_NEAR(gain_us, report.cost_before.total_us - report.cost_after.total_us, 1e-9);
}

/// A file that cannot be written must not cost the search, nor its exit code.
TEST_F(OptimizeResult, WhatCannotBeWrittenIsNoResult) {
  writable_ = [](const core::Graph& graph) -> core::Status {
    for (core::NodeId id : graph.order())
      if (graph.node(id).op->name == "concat") return core::unsupported("concat is too new");
    return core::Done{};
  };
  const OptimizeReport report = run(parallel_matmuls(3));
  EXPECT_EQ(report.outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_TRUE(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.starts_with("a result was left out, after merge_matmuls") &&
           note.find("concat is too new") != std::string::npos;
  }));
  writable_ = [](const core::Graph&) -> core::Status { return core::Done{}; };
  EXPECT_EQ(run(parallel_matmuls(3)).result, ResultKind::kRewritten);
}

TEST_F(OptimizeResult, AnInterruptLeavesTheBestSoFarVerified) {
  for (const char* stage : {"timing", "checking equivalence"}) {
    const OptimizeReport report = run(parallel_matmuls(3), stage, /*measure=*/true);
    EXPECT_EQ(report.outcome, Outcome::kInterrupted) << stage;
    if (std::string(stage) == "timing") {
      EXPECT_EQ(report.result, ResultKind::kRewritten) << "the cheapest by the cost model";
      EXPECT_FALSE(report.speedup);
    }
    if (report.result == ResultKind::kOriginal) continue;
    ASSERT_TRUE(report.equivalence) << stage;
    EXPECT_TRUE(report.equivalence->equal);
    EXPECT_EQ(report.equivalence->samples, 1) << "one is enough for who does not want to wait";
  }
}

TEST_F(OptimizeResult, AnInterruptBeforeTheSearchLeavesTheOriginal) {
  const OptimizeReport report = run(parallel_matmuls(3), "simplifying");
  EXPECT_EQ(report.outcome, Outcome::kInterrupted);
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_EQ(report.search.graphs_expanded, 0U);
}

}  // namespace
}  // namespace soapstone::search
