// An optimization that is timed in a runtime, stopped at one counted moment after the other:
// whatever was found before is the result, checked here and by the judge.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cost/models/cost_model.h"
#include "fake_judge.h"
#include "runtime/launches/host_backend.h"
#include "search/optimize.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;

constexpr int kMostMoments = 20;

/// Counts what can be seen of an optimization, and asks to stop at one of these moments.
class Moments final : public core::ProgressSink {
 public:
  Moments(int last, core::StopToken& stop) : last_(last), stop_(stop) {}

  void pass() {
    if (++count_ == last_) stop_.request_stop();
  }
  void stage(std::string_view) override { pass(); }
  void update(std::uint64_t, std::uint64_t, std::string_view note) override {
    if (note.starts_with("best ") && note != "best 1.000x" && first_gain_ == 0)
      first_gain_ = count_ + 1;
    pass();
  }
  void log(core::LogLevel, std::string_view) override {}

  int count() const { return count_; }
  /// The moment at which a gain was first told of; 0: none.
  int first_gain() const { return first_gain_; }

 private:
  const int last_;
  core::StopToken& stop_;
  std::atomic<int> count_{0}, first_gain_{0};
};

/// A runtime in which each operator takes 1 us, and matmuls 10. A comparison is a moment, and one
/// that is stopped is no comparison.
class CountedClock final : public TrialClock {
 public:
  explicit CountedClock(Moments& moments) : moments_(moments) {}
  std::string runtime() const override { return "counted 1.0"; }
  core::Result<cost::Comparison> compare(const Graph& a, const Graph& b, double,
                                         const core::StopToken& stop) override {
    moments_.pass();
    if (stop.stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
    const double ratio = time_us(a) / time_us(b);
    return cost::Comparison{
        {time_us(a), 1, 1, 10}, {time_us(b), 1, 1, 10}, {ratio, ratio - 1e-3, ratio + 1e-3}};
  }

 private:
  static double time_us(const Graph& graph) {
    double us = 0;
    for (const core::NodeId id : graph.order())
      if (!graph.is_constant_expression(id)) us += graph.node(id).op->name == "matmul" ? 10 : 1;
    return us;
  }
  Moments& moments_;
};

/// Blocks in a row, each with three matmuls that can be merged.
Graph merging_blocks(std::int64_t count) {
  core::GraphBuilder builder("blocks");
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, 8}, true});
  for (std::int64_t k = 0; k < count; ++k) {
    std::optional<core::TensorId> sum;
    for (int side = 0; side < 3; ++side) {
      const float seed = 0.1F * static_cast<float>(4 * k) + 0.01F * static_cast<float>(side);
      const auto w = builder.add_constant(weights(8, 8, seed));
      const auto y = (*ops::append(builder, "matmul", {x, w}))[0];
      const auto r = (*ops::append(builder, "relu", {y}))[0];
      sum = sum ? (*ops::append(builder, "add", {*sum, r}))[0] : r;
    }
    x = *sum;
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

class InterruptedAt : public testing::Test {
 protected:
  struct Run {
    OptimizeReport report;
    int moments = 0, first_gain = 0;
  };

  Run run(const Graph& graph, int moment, const std::string& rules_text = kMergeMatmuls,
          bool with_clock = true, double trials_s = 60) {
    const rules::RuleSet baseline = rule_set_of(kDoubleNegation), rules = rule_set_of(rules_text);
    verifier::Admission first(baseline, {.allow_unproved = true});
    verifier::Admission second(rules, {.allow_unproved = true});
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
    const auto backend = runtime::make_reference_backend();
    core::StopToken stop;
    Moments moments(moment, stop);
    CountedClock clock(moments);
    FakeJudge judge(graph);
    OptimizeOptions options;
    options.search.alpha = 2;
    options.search.effort = 1;
    options.measure = with_clock;  // real times would decide otherwise from run to run
    options.clock = with_clock ? &clock : nullptr;
    options.trials.time_s = trials_s;
    options.judge = &judge;
    auto report = optimize(graph, first, second, *cost, *backend, options, moments, stop);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    return {*std::move(report), moments.count(), moments.first_gain()};
  }

  static void expect_checked(const OptimizeReport& report) {
    ASSERT_TRUE(report.equivalence);
    EXPECT_TRUE(report.equivalence->equal);
    EXPECT_GE(report.equivalence->samples, 1);
    ASSERT_TRUE(report.judge);
    EXPECT_TRUE(report.judge->looked && report.judge->equivalence.equal);
    EXPECT_GE(report.judge->equivalence.samples, 1);
  }
};

bool says(const OptimizeReport& report, const std::string& text) {
  return std::ranges::any_of(
      report.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_F(InterruptedAt, AnyMomentBehindTheFirstGainTheBestIsTheResult) {
  const Graph graph = merging_blocks(2);
  for (const bool with_clock : {true, false}) {
    const Run whole = run(graph, 0, kMergeMatmuls, with_clock);
    EXPECT_EQ(whole.report.outcome, Outcome::kImproved);
    EXPECT_FALSE(says(whole.report, "not timed"));
    ASSERT_GT(whole.first_gain, 0);
    ASSERT_GT(whole.moments - whole.first_gain, with_clock ? kMostMoments : 5);
    int untimed = 0;
    const int step = std::max(1, (whole.moments - whole.first_gain) / kMostMoments);
    for (int moment = whole.first_gain; moment <= whole.moments; moment += step) {
      const OptimizeReport report = run(graph, moment, kMergeMatmuls, with_clock).report;
      EXPECT_EQ(report.outcome, Outcome::kInterrupted) << moment;
      EXPECT_EQ(report.result, ResultKind::kRewritten) << moment;
      EXPECT_LT(report.cost_after.total_us, report.cost_before.total_us) << moment;
      EXPECT_EQ(says(report, "not timed"), !report.speedup.has_value()) << moment;
      untimed += report.speedup ? 0 : 1;
      expect_checked(report);
    }
    EXPECT_GE(untimed, 2) << "the search and the trials end before the result is timed";
  }
}

TEST_F(InterruptedAt, AMomentBeforeAnyGainTheOriginalIsTheResult) {
  const OptimizeReport report = run(merging_blocks(2), 1).report;
  EXPECT_EQ(report.outcome, Outcome::kInterrupted);
  EXPECT_EQ(report.result, ResultKind::kOriginal);
  EXPECT_FALSE(says(report, "not timed")) << "the original is no result to time";
}

/// A search that ends without time to try what it found has found it nevertheless.
TEST_F(InterruptedAt, WithoutTimeForTrialsTheCandidateIsTimedAsAWhole) {
  const OptimizeReport report = run(merging_blocks(2), 0, kMergeMatmuls, true, 0).report;
  EXPECT_EQ(report.outcome, Outcome::kImproved);
  EXPECT_TRUE(report.speedup);
  EXPECT_TRUE(report.trials->trials.empty());
  expect_checked(report);
}

/// What differs is never the result, however early nobody waits for the rule that is wrong.
TEST_F(InterruptedAt, AWrongResultIsLeftOut) {
  const Graph graph = graph_of(R"(graph g
  x: f32[4, 8]   a: f32[8, 8]   b: f32[8, 8]
  y = matmul(x, a)
  z = matmul(x, b)
  s = add(y, z)
  return s
)");
  const Run whole = run(graph, 0, kWrongRule);
  ASSERT_GT(whole.first_gain, 0);
  ASSERT_FALSE(whole.report.taken_out.empty());
  int left_out = 0;
  for (int moment = whole.first_gain; moment <= whole.moments; ++moment) {
    const OptimizeReport report = run(graph, moment, kWrongRule).report;
    EXPECT_EQ(report.outcome, Outcome::kInterrupted) << moment;
    EXPECT_EQ(report.result, ResultKind::kOriginal) << moment;
    left_out += says(report, "a result was left out") ? 1 : 0;
  }
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace soapstone::search
