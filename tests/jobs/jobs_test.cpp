// Jobs as a program calls them: with rules and costs of its own, and without a command line.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file_io.h"
#include "jobs/gains/cost_rules.h"
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

TEST_F(Optimize, KeepsCheckpointsOfFunctionsApartByName) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.resume = (folder_ / "checkpoint").string();
  const auto unnamed = optimize(request);
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code, core::ErrorCode::kUsage);
  EXPECT_NE(unnamed.error().hint.find("graph_cost_name"), std::string::npos);
  request.graph_cost_name = "operators";
  for (int run = 0; run < 2; ++run) {
    const auto outcome = optimize(request);
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_EQ(outcome->run.costs, "function operators");
  }
  request.graph_cost_name = "others";
  const auto other = optimize(request);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("other costs"), std::string::npos) << other.error().message;
}

/// Contradictions, each with a word of the message that tells of it.
TEST_F(Optimize, RefusesRequestsThatContradictThemselves) {
  using Change = std::function<void(OptimizeRequest&)>;
  const std::string inside = (folder_ / "result.onnx").string();
  const std::vector<std::pair<std::string, Change>> cases = {
      {"there is no model", [](OptimizeRequest& r) { r.graph.reset(); }},
      {"two models", [](OptimizeRequest& r) { r.model = "model.onnx"; }},
      {"`shapes`", [](OptimizeRequest& r) { r.shapes["x"] = {1}; }},
      {"`strict`", [](OptimizeRequest& r) { r.strict = true; }},
      {"`judge`", [](OptimizeRequest& r) { r.judge.judge = JudgeKind::kOnnxRuntime; }},
      {"`judge`", [](OptimizeRequest& r) { r.judge.python = "python3"; }},
      {"two costs", [](OptimizeRequest& r) { r.cost_model = make_graph_cost(operators); }},
      {"names no function",
       [](OptimizeRequest& r) {
         r.graph_cost = {};
         r.graph_cost_name = "operators";
       }},
      {"several lines", [](OptimizeRequest& r) { r.graph_cost_name = "a\nb"; }},
      {"`objective`",
       [](OptimizeRequest& r) { r.objective = search::ObjectiveKind::kLatencyUnderMemory; }},
      {"`objective`", [](OptimizeRequest& r) { r.peak_limit_bytes = 1; }},
      {"`samples`", [](OptimizeRequest& r) { r.samples = -1; }},
      {"`inputs`",
       [](OptimizeRequest& r) {
         r.samples = 0;
         r.inputs = "x.npz";
       }},
      {"`proof`", [&](OptimizeRequest& r) { r.proof = inside; }},
      {"`dry_run`",
       [&](OptimizeRequest& r) {
         r.output = inside;
         r.proof = (folder_ / "proof").string();
         r.dry_run = true;
       }},
      {"`output` and `proof` are the same file",
       [&](OptimizeRequest& r) { r.output = r.proof = inside; }}};
  for (const auto& [words, change] : cases) {
    OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
    change(request);
    const auto outcome = optimize(request);
    ASSERT_FALSE(outcome) << words;
    EXPECT_EQ(outcome.error().code, core::ErrorCode::kUsage) << outcome.error().to_string();
    EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
    EXPECT_FALSE(outcome.error().hint.empty()) << words;
  }
}

TEST_F(Optimize, SaysBeforeTheSearchThatAFileCannotBeWritten) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.output = (folder_ / "no" / "result.onnx").string();
  bool searched = false;
  request.graph_cost = [&](const core::Graph& graph) {
    searched = true;
    return operators(graph);
  };
  const auto outcome = optimize(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_FALSE(searched);
}

TEST_F(Optimize, CallsCostsOfTheCallerOwnInTheTrace) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.trace = (folder_ / "trace").string();
  ASSERT_TRUE(optimize(request));
  const std::string trace = core::read_file(request.trace).value();
  EXPECT_NE(trace.find("\"costs\":\"own\""), std::string::npos) << trace;
  EXPECT_EQ(trace.find("measured"), std::string::npos) << trace;
}

TEST_F(Optimize, RefusesTwoRulesOfOneName) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.rules.files = {(folder_ / "mine.rules").string()};
  std::ofstream(request.rules.files[0]) << kOneRelu;
  const auto outcome = optimize(request);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("two rules one_relu_behind_concat"), std::string::npos)
      << outcome.error().message;
  EXPECT_NE(outcome.error().hint.find("only_rules"), std::string::npos) << outcome.error().hint;
}

TEST_F(Optimize, TurnsLackOfMemoryIntoAnErrorAndPassesOtherExceptions) {
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.graph_cost = [](const core::Graph&) -> double { throw std::bad_alloc(); };
  const auto outcome = optimize(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(outcome.error().message.find("out of memory while "), std::string::npos)
      << outcome.error().message;
  request.graph_cost = [](const core::Graph&) -> double { throw 7; };
  EXPECT_THROW((void)optimize(request), int);
}

TEST(Verify, WritesNoEvidenceIntoAText) {
  VerifyRequest request;
  request.text = kOneRelu;
  request.write = true;
  const auto outcome = verify(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kUsage);
}

TEST(Verify, TakesASecondLookWhereEvidenceIsWritten) {
  const TemporaryFolder folder;
  VerifyRequest request;
  request.files = {(folder / "mine.rules").string()};
  for (const bool write : {false, true}) {
    std::ofstream(request.files[0]) << kOneRelu;
    request.write = write;
    const auto outcome = verify(request);
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    ASSERT_EQ(outcome->verdicts.size(), 1U);
    EXPECT_EQ(outcome->verdicts[0].second_sizes > 0, write);
  }
}

/// Rules of equal names in files of equal names, and rules that lie in no file.
TEST(Verify, GivesEachLogANameOfItsOwn) {
  const TemporaryFolder folder;
  VerifyRequest request;
  for (const char* part : {"a", "b"}) {
    std::filesystem::create_directory(folder / part);
    request.files.push_back((folder / part / "mine.rules").string());
    std::ofstream(request.files.back()) << kOneRelu;
  }
  request.text = kOneRelu;
  request.proofs = (folder / "logs").string();
  const auto outcome = verify(request);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  for (const char* name :
       {"mine.one_relu_behind_concat.proof", "mine.one_relu_behind_concat.2.proof",
        "text.one_relu_behind_concat.proof"})
    EXPECT_TRUE(std::filesystem::exists(folder / "logs" / name)) << name;
}

/// A token that is set from the start: nothing but a look at it keeps these from their work.
TEST(CostRules, IsStoppedWhileItTimes) {
  const TemporaryFolder folder;
  CostRulesRequest request;
  request.files = {(folder / "mine.rules").string()};
  std::ofstream(request.files[0]) << kOneRelu;
  request.device.costs = "none";
  request.costs = GainKind::kMeasured;
  core::StopToken stop;
  stop.request_stop();
  const auto outcome = cost_rules(request, {.stop = stop});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kInterrupted);
  EXPECT_TRUE(cost_rules(request));
}

TEST(CostRules, RefusesCostsThatItCannotUse) {
  CostRulesRequest request;
  request.costs = GainKind::kNone;
  EXPECT_EQ(cost_rules(request).error().code, core::ErrorCode::kUsage);
  request.costs = GainKind::kRoofline;
  request.time = true;
  EXPECT_EQ(cost_rules(request).error().code, core::ErrorCode::kUsage);
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
  EXPECT_EQ(outcome.error().where, "line 1 of the rules given as text");
  EXPECT_EQ(outcome.error().hint, "`allow_unproved` uses the rule all the same");
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

/// Whoever interrupts before the first gain waits for nothing.
TEST_F(Optimize, WithoutAGainTellsOfNoResults) {
  int announced = 0;
  OptimizeRequest request = request_of(kOneRelu, "one_relu_behind_concat");
  request.graph_cost = [](const core::Graph&) { return 1.0; };
  const auto outcome = optimize(request, {.keep_results = [&] { ++announced; }});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(announced, 0);
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
  request.gains = GainKind::kNone;
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
