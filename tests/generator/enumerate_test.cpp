// Threads, resuming, limits, and the rules' own check as an independent oracle.
#include <barrier>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "generator/enumeration/tiles.h"
#include "generator_fixture.h"
#include "ops/evaluation/evaluate.h"
#include "rules/rule/rule.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::generator {
namespace {

TEST(Enumerate, DoesNotDependOnThreads) {
  EnumerateOptions one, four;
  one.jobs = 1;
  four.jobs = 4;
  EXPECT_EQ(all_laws(enumerate_theme("softmax", 3, one)),
            all_laws(enumerate_theme("softmax", 3, four)));
  EXPECT_EQ(all_laws(enumerate_taso(3, one)), all_laws(enumerate_taso(3, four)));
}

/// But for the order of elements, which may coincide in small tensors.
TEST(Enumerate, HardlyDependsOnTheSeed) {
  EnumerateOptions other;
  other.seed = 99;
  const auto here = enumerate_operators({"add", "relu", "matmul"}, 3);
  const auto there = enumerate_operators({"add", "relu", "matmul"}, 3, other);
  ASSERT_EQ(here.levels.size(), there.levels.size());
  for (std::size_t k = 0; k < here.levels.size(); ++k)
    EXPECT_NEAR(static_cast<double>(here.levels[k].classes),
                static_cast<double>(there.levels[k].classes),
                1e-3 * static_cast<double>(here.levels[k].classes));
}

TEST(Enumerate, GoesOnFromFinishedTiles) {
  const TemporaryFolder folder;
  EnumerateOptions kept;
  kept.resume_dir = folder.path();
  const auto whole = all_laws(enumerate_taso(2));
  EXPECT_EQ(all_laws(enumerate_taso(2, kept)), whole);
  // A killed run leaves some tiles, and perhaps a damaged one.
  std::size_t number = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path().extension() != ".tile") continue;
    if (++number % 3 == 0) std::filesystem::remove(file.path());
    if (number % 3 == 1) std::ofstream(file.path(), std::ios::app) << "x";
  }
  EXPECT_GT(number, 1u);
  EXPECT_EQ(all_laws(enumerate_taso(2, kept)), whole);
}

using Board = std::vector<std::vector<std::byte>>;

/// Ranks that are threads.
class Ranks {
 public:
  explicit Ranks(std::size_t count)
      : barrier_(static_cast<std::ptrdiff_t>(count)), board_(count, std::vector<std::byte>()) {}

  class Member final : public TileExchange {
   public:
    Member(Ranks& ranks, std::size_t rank) : ranks_(ranks), rank_(rank) {}
    std::size_t rank() const override { return rank_; }
    std::size_t ranks() const override { return ranks_.board_.size(); }
    core::Result<Board> all_gather(core::Result<std::vector<std::byte>> mine) override {
      ranks_.board_[rank_] = std::move(mine);
      ranks_.barrier_.arrive_and_wait();
      Board all;
      std::optional<core::Error> error;
      for (const auto& given : ranks_.board_) {
        if (given) all.push_back(*given);
        if (!given) error = given.error();
      }
      ranks_.barrier_.arrive_and_wait();
      if (error) return *error;
      return all;
    }

   private:
    Ranks& ranks_;
    std::size_t rank_;
  };

 private:
  std::barrier<> barrier_;
  std::vector<core::Result<std::vector<std::byte>>> board_;
};

std::vector<core::Result<Enumeration>> enumerate_on_ranks(std::vector<EnumerateOptions> options) {
  Ranks ranks(options.size());
  std::vector<core::Result<Enumeration>> found;
  for (std::size_t r = 0; r < options.size(); ++r)
    found.emplace_back(core::invalid_input("not run"));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < options.size(); ++r)
    threads.emplace_back([&, r] {
      Ranks::Member member(ranks, r);
      options[r].jobs = 1;
      options[r].ops = 2;
      options[r].exchange = &member;
      found[r] = enumerate(theme_of("taso", "taso"), options[r]);
    });
  for (std::thread& thread : threads) thread.join();
  return found;
}

TEST(Enumerate, RanksFindWhatOneProcessFinds) {
  const auto whole = enumerate_taso(2);
  const auto found = enumerate_on_ranks(std::vector<EnumerateOptions>(3));
  ASSERT_TRUE(found[0] && found[1] && found[2]);
  EXPECT_EQ(all_laws(*found[0]), all_laws(whole));
  for (const auto& one : found) EXPECT_EQ(one->levels.back().classes, whole.levels.back().classes);
  EXPECT_TRUE(found[2]->pairs.empty());
}

TEST(Enumerate, AnErrorOfOneRankEndsAll) {
  core::StopToken stop;
  stop.request_stop();
  std::vector<EnumerateOptions> options(3);
  options[1].stop = &stop;
  for (const auto& one : enumerate_on_ranks(options)) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, core::ErrorCode::kInterrupted);
  }
}

TEST(Enumerate, RanksRefuseTilesOfOtherOptions) {
  std::vector<EnumerateOptions> options(2);
  options[1].seed = 2;
  for (const auto& one : enumerate_on_ranks(options)) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, core::ErrorCode::kInvalidInput);
  }
}

TEST(Enumerate, RefusesTilesOfAnotherRun) {
  const TemporaryFolder folder;
  EnumerateOptions kept;
  kept.resume_dir = folder.path();
  enumerate_operators({"add"}, 2, kept);
  kept.ops = 2;
  const auto other = enumerate(*vocabulary_of(std::vector<std::string>{"mul"}), kept);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, core::ErrorCode::kInvalidInput);
}

TEST(Enumerate, StopsAndLimits) {
  core::StopToken stop;
  stop.request_stop();
  EnumerateOptions options;
  options.ops = 2;
  options.stop = &stop;
  EXPECT_EQ(enumerate(theme_of("taso", "taso"), options).error().code,
            core::ErrorCode::kInterrupted);
  options.stop = nullptr;
  options.memory_limit_bytes = 1000;
  EXPECT_EQ(enumerate(theme_of("taso", "taso"), options).error().code,
            core::ErrorCode::kRequirementNotMet);
}

TEST(Tiles, ChecksumsGuardThem) {
  TileResult tile{{2, 1, 0, 5}, std::vector<EvaluatedTerm>(3)};
  tile.candidates[1].term.fingerprint = {1, 2};
  std::vector<std::byte> bytes = serialize(tile, 7);
  ASSERT_TRUE(deserialize(bytes, tile.range, 7));
  EXPECT_EQ(deserialize(bytes, tile.range, 7)->candidates[1].term.fingerprint.high, 2u);
  EXPECT_FALSE(deserialize(bytes, tile.range, 8));
  EXPECT_FALSE(deserialize(bytes, {2, 1, 0, 6}, 7));
  bytes[40] ^= std::byte{1};
  EXPECT_FALSE(deserialize(bytes, tile.range, 7));
}

TEST(Vocabulary, SaysWhatThereIs) {
  EXPECT_EQ(preset("tasso").error().code, core::ErrorCode::kUsage);
  EXPECT_EQ(vocabulary_of(std::vector<std::string>{"mattmul"}).error().code,
            core::ErrorCode::kUsage);
}

/// The rule's own check shares the operators' definitions with the enumeration, but neither its
/// inputs nor its sizes.
void check_sample(const Enumeration& enumeration, std::size_t step) {
  int checked = 0;
  const auto check = [&](const core::Result<Sides>& sides, const std::string& law) {
    // x / x = 1 is false where x is 0, which no input of the enumeration is: for the prover to say.
    // A norm of a norm of one element alone divides rounding errors by epsilon.
    if (law.find("div(") != std::string::npos || law.find("norm(") != std::string::npos) return;
    ASSERT_TRUE(sides) << law << ": " << sides.error().to_string();
    rules::Rule rule;
    rule.name = rule.base_name = law;
    rule.source = sides->source;
    rule.target = sides->target;
    rule.constant_inputs.assign(rule.source.inputs().size(), false);
    const auto report = rules::check(rule, 3, 17);
    ASSERT_TRUE(report) << law << ": " << report.error().to_string();
    EXPECT_FALSE(report->counterexample) << law << ": " << report->counterexample->text;
    ++checked;
  };
  for (std::size_t k = 0; k < enumeration.pairs.size(); k += step)
    check(sides_of(enumeration, enumeration.pairs[k]), law_of(enumeration, enumeration.pairs[k]));
  EXPECT_GT(checked, 10);
}

TEST(Enumerate, PairsPassTheCheckOfRules) {
  check_sample(enumerate_operators({"add", "mul", "matmul", "transpose", "relu"}, 3), 97);
  check_sample(enumerate_operators({"concat", "split", "matmul", "slice"}, 3), 97);
  check_sample(enumerate_taso(3), 1499);
  check_sample(enumerate_theme("convolution", 2), 11);
}

}  // namespace
}  // namespace soapstone::generator
