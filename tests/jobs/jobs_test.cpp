// Jobs as a program calls them: with rules and costs of its own, and without a command line.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "jobs/generate/generate.h"
#include "jobs/inspect/inspect.h"
#include "jobs/optimize/optimize.h"
#include "jobs/verify/verify.h"
#include "tests/support/graphs.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::jobs {
namespace {

constexpr const char* kGraph = R"(graph two
  x: f32[1, 2, 4, 4]   y: f32[1, 3, 4, 4]
  a = relu(x)
  b = relu(y)
  z = concat(a, b; axis=1)
  return z
)";

constexpr const char* kOneRelu = R"(rule one_relu_behind_concat
  x: [n, c, h, w]   y: [n, d, h, w]
  source
    a = relu(x)
    b = relu(y)
    z = concat(a, b; axis=1)
  target
    xy = concat(x, y; axis=1)
    z = relu(xy)
)";

constexpr const char* kWrong = R"(rule no_relu
  x: [n]
  source
    y = relu(x)
  target
    y = neg(x)
)";

double operators(const core::Graph& graph) { return static_cast<double>(graph.order().size()); }

/// Optimizes with proofs kept in a folder of its own.
class Optimize : public testing::Test {
 protected:
  Optimize() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  TemporaryFolder folder_;
};

/// With the caller's rule and costs alone.
OptimizeRequest request_of(const std::string& rule, const std::string& name) {
  OptimizeRequest request;
  request.graph = graph_of(kGraph);
  request.rules.text = rule;
  request.rules.only = {name};
  request.graph_cost = operators;
  return request;
}

TEST_F(Optimize, TakesARuleAndACostFunctionOfTheCaller) {
  const auto outcome = optimize(request_of(kOneRelu, "one_relu_behind_concat"));
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->report.outcome, search::Outcome::kImproved);
  EXPECT_EQ(outcome->report.graph.order().size(), 2U);
  ASSERT_EQ(outcome->report.rules_applied.size(), 1U);
  EXPECT_EQ(outcome->report.rules_applied[0].rule, "one_relu_behind_concat");
  EXPECT_EQ(outcome->run.costs, "a function");
  EXPECT_EQ(outcome->run.output, "");
}

TEST_F(Optimize, RefusesCostsThatAreNoNumbers) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  for (const double cost : {std::nan(""), -1.0, HUGE_VAL}) {
    request.graph_cost = [cost](const core::Graph&) { return cost; };
    const auto outcome = optimize(request);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, core::ErrorCode::kInvalidInput);
  }
}

TEST_F(Optimize, NeverChoosesAGraphThatHasNoCost) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.graph_cost = [](const core::Graph& graph) {
    return graph.order().size() == 3 ? 3.0 : std::nan("");
  };
  const auto outcome = optimize(request);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->report.graph.order().size(), 3U);
}

TEST_F(Optimize, WritesAModelThatWasInMemory) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.output = (folder_ / "result.onnx").string();
  ASSERT_TRUE(optimize(request));
  InspectRequest inspected;
  inspected.model = request.output;
  const auto summary = inspect(inspected);
  ASSERT_TRUE(summary) << summary.error().to_string();
  EXPECT_EQ(summary->summary.nodes, 2U);
}

TEST(Verify, LeavesAFileWithoutRulesAlone) {
  const TemporaryFolder folder;
  VerifyRequest request;
  request.files = {(folder.path() / "empty.rules").string()};
  request.write = true;
  std::ofstream(request.files[0]).close();
  const auto outcome = verify(request);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->verdicts.empty());
}

TEST(Verify, MissesTheShippedRules) {
  const TemporaryFolder empty;
  setenv("SOAPSTONE_RULES_DIR", empty.path().c_str(), 1);
  const auto outcome = verify({});
  unsetenv("SOAPSTONE_RULES_DIR");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kInvalidInput);
}

TEST_F(Optimize, RefusesARuleWithoutAProof) {
  const auto outcome = optimize(request_of(kWrong, "no_relu"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUnsupported);
  EXPECT_NE(outcome.error().message.find("rule no_relu has no proof"), std::string::npos)
      << outcome.error().message;
}

/// Counts what a job says.
class Listener final : public core::ProgressSink {
 public:
  void stage(std::string_view) override { ++stages; }
  void update(std::uint64_t, std::uint64_t, std::string_view) override {}
  void log(core::LogLevel, std::string_view) override {}
  std::atomic<int> stages = 0;
};

TEST_F(Optimize, TellsOfStagesAndResults) {
  Listener listener;
  int announced = 0;
  const auto outcome = optimize(request_of(kOneRelu, "one_relu_behind_concat"),
                                {.progress = listener, .keep_results = [&] { ++announced; }});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_GT(listener.stages, 3);
  EXPECT_EQ(announced, 1);
}

TEST(Generate, IsStopped) {
  core::StopToken stop;
  stop.request_stop();
  GenerateRequest request;
  request.operators = {"add"};
  request.ops = 2;
  const auto outcome = generate(request, {.stop = stop});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kInterrupted);
}

TEST(Verify, ReadsRulesFromText) {
  VerifyRequest request;
  request.text = std::string(kOneRelu) + "\n" + kWrong;
  const auto outcome = verify(request);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  ASSERT_EQ(outcome->verdicts.size(), 2U);
  EXPECT_EQ(outcome->verdicts[0].kind, verifier::VerdictKind::kProved);
  EXPECT_EQ(outcome->verdicts[1].kind, verifier::VerdictKind::kRefuted);
  EXPECT_FALSE(outcome->all_proved());
}

TEST(Generate, WritesRulesThatOptimizeReads) {
  GenerateRequest request;
  request.operators = {"relu", "mul"};
  request.ops = 2;
  request.gains = "none";
  const auto outcome = generate(request);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_FALSE(outcome->rules.empty());
  VerifyRequest again;
  again.text = outcome->text;
  const auto verdicts = verify(again);
  ASSERT_TRUE(verdicts) << verdicts.error().to_string();
  EXPECT_EQ(verdicts->verdicts.size(), outcome->rules.size());
  EXPECT_TRUE(verdicts->all_proved());
}

}  // namespace
}  // namespace soapstone::jobs
