#include "search/passes/checkpoint.h"
#include "search/search.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "search/base/trace.h"
#include "search_fixture.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::search {
namespace {

using testing::HasSubstr;

/// Blocks of different widths, so that each is a kind of its own.
core::Graph different_blocks(std::size_t count) {
  core::GraphBuilder builder("different_blocks");
  std::vector<core::TensorId> outputs;
  for (std::size_t k = 0; k < count; ++k) {
    const auto width = static_cast<std::int64_t>(8 + k);
    const core::TensorId x =
        builder.add_input("x" + std::to_string(k), {core::DataType::kFloat32, {1, width}, true});
    for (int side = 0; side < 4; ++side) {
      const auto w = builder.add_constant(weights(width, 8, static_cast<float>(side)));
      outputs.push_back((*ops::append(builder, "matmul", {x, w}))[0]);
    }
  }
  builder.set_outputs(outputs);
  return *std::move(builder).finish();
}

/// Asks to stop after so many regions.
class StopAfter final : public TraceSink {
 public:
  StopAfter(std::size_t regions, core::StopToken& stop) : left_(regions), stop_(stop) {}
  void simplified(const SimplifyReport&, const core::Graph&) override {}
  void pass(const TracePass&) override {}
  void region(const TraceRegion&) override {
    if (--left_ == 0) stop_.request_stop();
  }
  void applied(const TraceApplication&) override {}
  void best(const TraceBest&) override {}

 private:
  std::size_t left_;
  core::StopToken& stop_;
};

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.time_s = 0;
    options_.strategy = Strategy::kBacktracking;
    options_.alpha = 2;
    options_.region_sizes = {12};
  }

  SearchResult run(Checkpoint* checkpoint, std::size_t stop_after = 0, bool allow_unproved = true) {
    core::StopToken stop;
    StopAfter sink(stop_after, stop);
    SearchOptions options = options_;
    if (stop_after > 0) options.trace = &sink;
    options.checkpoint = checkpoint;
    verifier::Admission admission(rules_, {.allow_unproved = allow_unproved});
    return search(graph_, admission, *cost_, options, core::silent(), stop);
  }

  core::Status open(Checkpoint& checkpoint) const {
    return checkpoint.open(identity_of(graph_, rules_, *cost_, runtime::Fusion::kNone, options_),
                           rules_);
  }

  /// Searches, and leaves a file behind.
  SearchResult fill(std::size_t stop_after = 0) {
    Checkpoint checkpoint(file_);
    EXPECT_TRUE(open(checkpoint).ok());
    SearchResult result = run(&checkpoint, stop_after);
    EXPECT_TRUE(checkpoint.write().ok());
    return result;
  }

  SearchResult resume(bool allow_unproved = true) {
    Checkpoint checkpoint(file_);
    const auto opened = open(checkpoint);
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return run(&checkpoint, 0, allow_unproved);
  }

  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }
  void replace(const std::string& before, const std::string& after) const {
    std::string changed = text();
    const std::size_t at = changed.find(before);
    ASSERT_NE(at, std::string::npos) << before << " in " << changed;
    std::ofstream(file_) << changed.replace(at, before.size(), after);
  }

  static void expect_same(const SearchResult& a, const SearchResult& b) {
    EXPECT_EQ(a.graphs_expanded, b.graphs_expanded);
    EXPECT_EQ(a.graphs_expanded_whole, b.graphs_expanded_whole);
    EXPECT_EQ(a.graphs_built, b.graphs_built);
    EXPECT_EQ(a.duplicates, b.duplicates);
    EXPECT_EQ(a.stop_reason, b.stop_reason);
    ASSERT_EQ(a.best.size(), b.best.size());
    for (std::size_t k = 0; k < a.best.size(); ++k) {
      EXPECT_EQ(a.best[k].graph.hash(), b.best[k].graph.hash());
      EXPECT_EQ(a.best[k].cost_us, b.best[k].cost_us);
      ASSERT_EQ(a.best[k].steps.size(), b.best[k].steps.size());
      for (std::size_t i = 0; i < a.best[k].steps.size(); ++i)
        EXPECT_EQ(a.best[k].steps[i].gain_us, b.best[k].steps[i].gain_us);
    }
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "checkpoint";
  core::Graph graph_ = different_blocks(70);
  rules::RuleSet rules_ = rule_set_of(kMergeMatmuls);
  std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(runtime::Fusion::kNone);
  SearchOptions options_;
};

TEST_F(CheckpointTest, AFinishedSearchIsNotRepeated) {
  const SearchResult first = fill();
  ASSERT_FALSE(first.best.empty());
  EXPECT_EQ(first.graphs_resumed, 0U);
  const SearchResult again = resume();
  expect_same(again, first);
  EXPECT_EQ(again.graphs_resumed, first.graphs_expanded);
  EXPECT_EQ(again.regions_resumed, first.regions_searched);
  expect_same(run(nullptr), first);
}

TEST_F(CheckpointTest, AnInterruptedSearchComesToTheSameEnd) {
  const SearchResult whole = run(nullptr);
  const SearchResult part = fill(/*stop_after=*/20);
  EXPECT_EQ(part.stop_reason, StopReason::kInterrupted);
  ASSERT_LT(part.graphs_expanded, whole.graphs_expanded);
  const SearchResult rest = resume();
  expect_same(rest, whole);
  EXPECT_GT(rest.graphs_resumed, 0U);
  EXPECT_LT(rest.graphs_resumed, rest.graphs_expanded);
}

TEST_F(CheckpointTest, ReadsWhatItWrote) {
  fill();
  const auto contents = parse_checkpoint(text());
  ASSERT_TRUE(contents.ok()) << contents.error().to_string();
  EXPECT_EQ(print(*contents, rules_), text());
  EXPECT_GT(contents->entries.size(), 60U);
}

TEST_F(CheckpointTest, RewritesThatDoNotMatchAreSearchedAgain) {
  const SearchResult first = fill();
  replace("apply rule=0 nodes=", "apply rule=0 nodes=7,");
  const SearchResult again = resume();
  expect_same(again, first);
  EXPECT_LT(again.regions_resumed, first.regions_searched);
}

TEST_F(CheckpointTest, CostsThatDoNotHoldAreSearchedAgain) {
  const SearchResult first = fill();
  replace("after_us=", "after_us=1");
  const SearchResult again = resume();
  expect_same(again, first);
  EXPECT_EQ(again.regions_resumed + 1, first.regions_searched);
}

TEST_F(CheckpointTest, BringsNothingUnproved) {
  fill();
  EXPECT_THAT(text(), HasSubstr("apply rule=0"));
  const SearchResult again = resume(/*allow_unproved=*/false);
  EXPECT_TRUE(again.best.empty());
}

/// A search that was ended by its budget holds for that very budget.
TEST_F(CheckpointTest, SearchesThatABudgetEndedHoldForThatBudget) {
  fill();
  replace("stop=exhausted", "stop=budget");
  const SearchResult again = resume();
  expect_same(again, run(nullptr));
  EXPECT_EQ(again.regions_resumed + 1, again.regions_searched);

  CheckpointEntry entry;
  entry.expanded = 5;
  const auto holds = [&](RegionStop stop) {
    entry.stop = stop;
    return std::vector{entry.holds_with(4), entry.holds_with(5), entry.holds_with(6)};
  };
  EXPECT_EQ(holds(RegionStop::kBudget), (std::vector{false, true, false}));
  EXPECT_EQ(holds(RegionStop::kPatience), (std::vector{false, false, true}));
  EXPECT_EQ(holds(RegionStop::kMemory), (std::vector{false, true, true}));
  EXPECT_EQ(holds(RegionStop::kExhausted), (std::vector{false, true, true}));
}

/// A file that was written in one way serves any other, and changes nothing there.
TEST_F(CheckpointTest, OtherStrategiesComeToWhatTheyComeToAlone) {
  graph_ = different_blocks(6);
  options_.budget = 25;  // less than all regions take: what is left over differs
  constexpr Strategy kAll[] = {Strategy::kPortfolio, Strategy::kBacktracking, Strategy::kEqsat,
                               Strategy::kBest};
  for (const Strategy first : kAll) {
    for (const Strategy then : kAll) {
      std::filesystem::remove(file_);
      options_.strategy = first;
      fill(/*stop_after=*/4);
      options_.strategy = then;
      const SearchResult alone = run(nullptr);
      expect_same(resume(), alone);
    }
  }
}

TEST_F(CheckpointTest, SaysWhatDiffers) {
  fill();
  const auto error = [&](const CheckpointIdentity& identity) {
    Checkpoint checkpoint(file_);
    const auto opened = checkpoint.open(identity, rules_);
    return opened.ok() ? std::string() : opened.error().to_string();
  };
  const auto mine = identity_of(graph_, rules_, *cost_, runtime::Fusion::kNone, options_);
  EXPECT_EQ(error(mine), "");
  auto other = mine;
  other.model = 1;
  EXPECT_THAT(error(other), HasSubstr("another model"));
  other = mine;
  other.rules =
      identity_of(graph_, rule_set_of(kWrongRule), *cost_, runtime::Fusion::kNone, options_).rules;
  EXPECT_THAT(error(other), HasSubstr("other rules"));
  other = mine;
  other.costs = identity_of(graph_, rules_, *cost_, runtime::Fusion::kFull, options_).costs;
  EXPECT_THAT(error(other), HasSubstr("other costs"));
  SearchOptions options = options_;
  options.patience = 7;
  other = identity_of(graph_, rules_, *cost_, runtime::Fusion::kNone, options);
  EXPECT_THAT(error(other), HasSubstr("--patience 7"));
  options = options_;
  options.jobs = 3;
  options.time_s = 1;
  EXPECT_EQ(error(identity_of(graph_, rules_, *cost_, runtime::Fusion::kNone, options)), "");
}

TEST_F(CheckpointTest, RefusesWhatIsNone) {
  fill();
  const std::string whole = text();
  const auto error = [&](const std::string& contents) {
    const auto parsed = parse_checkpoint(contents);
    return parsed.ok() ? std::string() : parsed.error().to_string();
  };
  EXPECT_THAT(error(""), HasSubstr("expected `checkpoint`"));
  EXPECT_THAT(error("checkpoint 1\n"), HasSubstr("version 1"));
  EXPECT_THAT(error(whole.substr(0, whole.rfind("end"))), HasSubstr("cut off"));
  for (std::size_t length = 0; length + 1 < whole.size(); length += 97)
    EXPECT_NE(error(whole.substr(0, length)), "") << length;
  const std::string head = whole.substr(0, whole.find("region 0x"));
  EXPECT_THAT(error(head + "  apply rule=0 nodes=1 inputs=2\nend 0\n"), HasSubstr("no region"));
  EXPECT_THAT(error(head + "end 3\n"), HasSubstr("there are 0 regions, not 3"));
  EXPECT_THAT(error(head + "region 0x1 0x2 expanded=x\nend 1\n"), HasSubstr("`x`"));
  replace("apply rule=0", "apply rule=4000000000");
  Checkpoint checkpoint(file_);
  const auto opened = open(checkpoint);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().to_string(), HasSubstr("no rule number 4000000000"));
}

TEST_F(CheckpointTest, OneThatCannotBeWrittenShowsAtOnce) {
  Checkpoint checkpoint("/nonexistent/checkpoint");
  EXPECT_FALSE(open(checkpoint).ok());
}

}  // namespace
}  // namespace soapstone::search
