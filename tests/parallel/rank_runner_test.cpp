// Ranks that run their programs: what they compute, and what is said of their times.
#include "parallel/running/rank_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "parallel/lowering/lowering.h"
#include "parallel/planning/named.h"
#include "parallel/planning/strategies.h"
#include "parallel/running/cut_sums.h"
#include "parallel/running/pieces_of_values.h"
#include "parallel/running/run_figures.h"
#include "runtime/collectives/virtual_ranks.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

using core::LiteralPtr;

TEST(PiecesOfValues, AreTakenAndPutBack) {
  std::vector<float> numbers(3 * 8);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<float>(k);
  const auto whole = std::make_shared<const core::Literal>(core::Literal::floats({3, 8}, numbers));
  const TensorPiece piece{{{{1, 3}}, {{0, 2}, {5, 6}}}};
  const LiteralPtr value = value_of_piece(whole, piece);
  EXPECT_EQ(value->dims(), (core::Dims{2, 3}));
  const auto taken = value->as<float>();
  EXPECT_EQ(std::vector<float>(taken.begin(), taken.end()),
            (std::vector<float>{8, 9, 13, 16, 17, 21}));
  EXPECT_EQ(index_in_whole(piece, 5), (core::Dims{2, 5}));
  std::vector<std::byte> bytes(whole->bytes().size());
  put_piece(value->bytes(), sizeof(float), piece, {3, 8}, bytes);
  put_piece(whole->bytes().first(8 * sizeof(float)), sizeof(float), {{{{0, 1}}, {{0, 8}}}}, {3, 8},
            bytes);
  const auto back = core::Literal::copy(core::DataType::kFloat32, {3, 8}, bytes);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const bool is_there =
        at < 8 || contains(piece, {{{{at / 8, at / 8 + 1}}, {{at % 8, at % 8 + 1}}}});
    EXPECT_EQ(back.as<float>()[k], is_there ? numbers[k] : 0) << k;
  }
  EXPECT_EQ(value_of_piece(whole, TensorPiece::whole({3, 8})), whole);
  const auto scalar = std::make_shared<const core::Literal>(core::Literal::scalar(3));
  EXPECT_EQ(value_of_piece(scalar, TensorPiece{}), scalar);
}

/// A network with values, and the programs of its ranks.
struct RunnableNetwork {
  PlannedNetwork net;
  std::vector<LiteralPtr> values;  ///< By input of the graph.
  std::vector<RankProgram> programs;
  std::vector<bool> behind_sums;  ///< By tensor.

  LiteralPtr value(core::TensorId id) const {
    const auto inputs = net.graph.inputs();
    return values[static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin())];
  }
};

/// Weights so small that numbers stay ordinary, and positive as variances have to be.
std::vector<LiteralPtr> small_values(const PlannedNetwork& net) {
  std::vector<LiteralPtr> values;
  const std::vector<core::Literal> drawn = runtime::random_inputs(net.graph, 3);
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    const core::TensorId id = net.graph.inputs()[k];
    if (!net.is_weight[id.index()]) {
      values.push_back(std::make_shared<const core::Literal>(drawn[k]));
      continue;
    }
    std::vector<float> numbers;
    for (const float number : drawn[k].as<float>())
      numbers.push_back(0.01F + 0.1F * std::abs(number));
    values.push_back(
        std::make_shared<const core::Literal>(core::Literal::floats(drawn[k].dims(), numbers)));
  }
  return values;
}

/// None: the network does not admit the strategy.
std::optional<RunnableNetwork> runnable(const std::string& name,
                                        const models::ParameterValues& sizes,
                                        const std::string& strategy, std::int64_t devices) {
  RunnableNetwork result{network(name, sizes), {}, {}, {}};
  const Topology machine = topology("k80x4-ib");
  MeshPlanOptions options;
  options.devices = devices;
  options.freedom = (*named_strategy(strategy))->freedom;
  const core::StopToken never;
  const auto planned = plan_on_meshes(result.net.graph, result.net.is_weight, machine, options,
                                      core::silent(), never);
  if (!planned) return std::nullopt;
  result.values = small_values(result.net);
  const GraphLoops loops = graph_loops(result.net.graph, result.net.is_weight);
  const PlannedCuts cuts = cuts_of(planned->plan);
  auto programs = lower(result.net.graph, loops, result.net.is_weight, cuts);
  EXPECT_TRUE(programs.ok()) << programs.error().to_string();
  result.programs = *std::move(programs);
  result.behind_sums = behind_cut_sums(result.net.graph, loops, cuts);
  return result;
}

struct RankResult {
  std::optional<core::Result<std::vector<LiteralPtr>>> outputs;
  std::vector<RankStepTime> times;
  std::size_t peak_bytes = 0;
};

/// Runs all ranks as threads, each `runs` times. `are_fixed`: weights are part of the graphs.
std::vector<RankResult> run_ranks(const RunnableNetwork& net, bool are_fixed, int runs = 1) {
  const auto ranks = runtime::make_virtual_ranks(static_cast<int>(net.programs.size()));
  std::vector<RankResult> results(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      const auto backend = runtime::make_reference_backend();
      std::vector<LiteralPtr> fixed, given;
      for (const HeldPiece& held : net.programs[r].inputs) {
        const LiteralPtr piece = value_of_piece(net.value(held.tensor), held.piece);
        const bool is_fixed = are_fixed && net.net.is_weight[held.tensor.index()];
        fixed.push_back(is_fixed ? piece : nullptr);
        given.push_back(is_fixed ? nullptr : piece);
      }
      auto runner = RankRunner::make(net.programs[r], fixed, *backend, runtime::Fusion::kNone);
      ASSERT_TRUE(runner.ok()) << runner.error().to_string();
      ASSERT_TRUE(runner->connect(*ranks[r]).ok());
      for (int k = 0; k < runs; ++k) results[r].outputs = runner->run(given);
      results[r].times.assign(runner->times().begin(), runner->times().end());
      results[r].peak_bytes = runner->peak_bytes();
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<core::Literal> run_whole(const RunnableNetwork& net) {
  const auto backend = runtime::make_reference_backend();
  auto executable =
      runtime::Executable::make(net.net.graph, *backend, {.fusion = runtime::Fusion::kNone});
  EXPECT_TRUE(executable.ok());
  std::vector<core::Literal> inputs;
  for (const LiteralPtr& value : net.values) inputs.push_back(*value);
  auto outputs = executable->run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
  return *std::move(outputs);
}

void expect_results(const RunnableNetwork& net, const std::vector<RankResult>& results) {
  const std::vector<core::Literal> whole = run_whole(net);
  const auto names = net.net.graph.outputs();
  std::size_t compared = 0;
  for (std::size_t r = 0; r < results.size(); ++r) {
    ASSERT_TRUE(results[r].outputs && results[r].outputs->ok())
        << results[r].outputs->error().to_string();
    for (std::size_t k = 0; k < net.programs[r].outputs.size(); ++k) {
      const HeldPiece& held = net.programs[r].outputs[k];
      const auto at =
          static_cast<std::size_t>(std::ranges::find(names, held.tensor) - names.begin());
      const auto expected =
          value_of_piece(std::make_shared<const core::Literal>(whole[at]), held.piece);
      const core::Literal& actual = *(**results[r].outputs)[k];
      ++compared;
      if (!net.behind_sums[held.tensor.index()]) {
        EXPECT_EQ(*expected, actual) << "rank " << r;
        continue;
      }
      ASSERT_EQ(expected->dims(), actual.dims());
      for (std::size_t i = 0; i < expected->as<float>().size(); ++i)
        EXPECT_NEAR(actual.as<float>()[i], expected->as<float>()[i],
                    1e-4 * std::abs(expected->as<float>()[i]) + 1e-6);
    }
  }
  EXPECT_GT(compared, 0U);
}

class StrategyOfRanks : public testing::TestWithParam<std::string> {};

TEST_P(StrategyOfRanks, ComputesWhatOneDeviceDoes) {
  std::size_t runs = 0;
  for (const auto& [name, sizes] : small_networks()) {
    const auto net = runnable(name, sizes, GetParam(), 4);
    if (!net) continue;
    ++runs;
    SCOPED_TRACE(name);
    expect_results(*net, run_ranks(*net, true));
  }
  if (runs == 0) GTEST_SKIP() << "no network admits it";
}

INSTANTIATE_TEST_SUITE_P(Some, StrategyOfRanks,
                         testing::Values("data", "model", "megatron", "pipeline", "zero-3",
                                         "mesh-tensorflow", "best"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

const models::ParameterValues kRunGpt = {{"batch", 4},      {"seq", 4},     {"positions", 4},
                                         {"layers", 2},     {"hidden", 16}, {"heads", 4},
                                         {"vocabulary", 24}};

TEST(RankRunnerTest, TakesWeightsAsInputsToo) {
  const auto net = runnable("gpt", kRunGpt, "megatron", 2);
  ASSERT_TRUE(net);
  const auto fixed = run_ranks(*net, true), given = run_ranks(*net, false);
  expect_results(*net, given);
  for (std::size_t r = 0; r < fixed.size(); ++r)
    for (std::size_t k = 0; k < (*fixed[r].outputs)->size(); ++k)
      EXPECT_EQ(*(**fixed[r].outputs)[k], *(**given[r].outputs)[k]);
}

TEST(RankRunnerTest, ComputesTheSameInEveryRunAndForgetsValues) {
  const auto net = runnable("gpt", kRunGpt, "megatron", 2);
  ASSERT_TRUE(net);
  // From the second run on, results of the run before are still there.
  const auto twice = run_ranks(*net, true, 2), often = run_ranks(*net, true, 5);
  for (std::size_t r = 0; r < twice.size(); ++r) {
    EXPECT_EQ(*(**twice[r].outputs)[0], *(**often[r].outputs)[0]);
    EXPECT_EQ(twice[r].peak_bytes, often[r].peak_bytes) << "values pile up";
    EXPECT_GT(twice[r].peak_bytes, 0U);
  }
}

TEST(RankRunnerTest, TimesStepsInTurn) {
  const auto net = runnable("gpt", kRunGpt, "megatron", 2);
  ASSERT_TRUE(net);
  const auto results = run_ranks(*net, true);
  std::vector<std::vector<RankStepTime>> times;
  for (const RankResult& result : results) {
    double before_us = 0;
    for (const RankStepTime& time : result.times) {
      EXPECT_LE(before_us, time.start_us);
      EXPECT_LE(time.start_us, time.end_us);
      before_us = time.end_us;
    }
    times.push_back(result.times);
  }
  const RunFigures figures = figures_of(tensor_names(net->net.graph), net->programs, times);
  ASSERT_EQ(figures.ranks.size(), 2U);
  EXPECT_GT(figures.exchanges.size(), 0U);
  for (std::size_t r = 0; r < 2; ++r) {
    const RankFigures& rank = figures.ranks[r];
    EXPECT_LE(rank.compute_us + rank.exchange_us + rank.wait_us, figures.step_us * 1.0001);
    EXPECT_EQ(figures.lanes[r].parts.size(), net->programs[r].steps.size());
  }
}

TEST(RunFiguresTest, ARankDoesNotWaitForOtherGroups) {
  std::vector<RankProgram> programs(4);
  const core::TensorType type{core::DataType::kFloat32, core::to_shape({10}), true};
  std::vector<std::vector<RankStepTime>> times;
  for (std::int64_t r = 0; r < 4; ++r) {
    RankProgram& program = programs[static_cast<std::size_t>(r)];
    const std::int64_t first = r / 2 * 2;
    program.values = {type, type};
    program.steps.emplace_back(AllReduceStep{0,
                                             core::TensorId(0),
                                             JoinedValues::kSum,
                                             {first, first + 1},
                                             RankValueId(0),
                                             RankValueId(1)});
    const double start_us = r < 2 ? 0 : 15;  // The groups are at work at the same time.
    times.push_back({{start_us, start_us + 20}});
  }
  const RunFigures figures = figures_of({"sum"}, programs, times);
  EXPECT_DOUBLE_EQ(figures.ranks[0].exchange_us, 20);
  EXPECT_DOUBLE_EQ(figures.ranks[0].wait_us, 15) << "until the step ends";
}

TEST(RunFiguresTest, ARankWaitsForTheOneThatComesLast) {
  std::vector<RankProgram> programs(2);
  const core::TensorType type{core::DataType::kFloat32, core::to_shape({10}), true};
  for (RankProgram& program : programs) {
    program.values = {type, type};
    program.steps.emplace_back(ComputeStep{});
    program.steps.emplace_back(AllReduceStep{
        0, core::TensorId(0), JoinedValues::kSum, {0, 1}, RankValueId(0), RankValueId(1)});
  }
  const std::vector<std::vector<RankStepTime>> times = {{{0, 10}, {10, 35}}, {{0, 30}, {30, 40}}};
  const RunFigures figures = figures_of({"sum"}, programs, times);
  EXPECT_DOUBLE_EQ(figures.step_us, 40);
  ASSERT_EQ(figures.exchanges.size(), 1U);
  EXPECT_EQ(figures.exchanges[0].tensor, "sum");
  EXPECT_EQ(figures.exchanges[0].kind, ExchangeKind::kSum);
  EXPECT_EQ(figures.exchanges[0].count, 1);
  EXPECT_DOUBLE_EQ(figures.exchanges[0].bytes, 80);
  EXPECT_DOUBLE_EQ(figures.exchanges[0].us, 5 + 10);
  EXPECT_DOUBLE_EQ(figures.ranks[0].compute_us, 10);
  EXPECT_DOUBLE_EQ(figures.ranks[0].exchange_us, 5);
  EXPECT_DOUBLE_EQ(figures.ranks[0].wait_us, 20 + 5);  // It also ends earlier.
  EXPECT_DOUBLE_EQ(figures.ranks[0].idle_share, 25.0 / 40);
  EXPECT_DOUBLE_EQ(figures.ranks[1].wait_us, 0);
  EXPECT_EQ(figures.lanes[1].parts[1].name, "all-reduce (sum) of sum");
}

TEST(RankRunnerTest, ARankThatFailsEndsTheWaitsOfOthers) {
  const auto net = runnable("gpt", kRunGpt, "megatron", 2);
  ASSERT_TRUE(net);
  auto ranks = runtime::make_virtual_ranks(2);
  const auto backend = runtime::make_reference_backend();
  std::vector<LiteralPtr> given;
  for (const HeldPiece& held : net->programs[0].inputs)
    given.push_back(value_of_piece(net->value(held.tensor), held.piece));
  auto runner = RankRunner::make(net->programs[0], std::vector<LiteralPtr>(given.size()), *backend,
                                 runtime::Fusion::kFull);
  ASSERT_TRUE(runner.ok());
  ASSERT_TRUE(runner->connect(*ranks[0]).ok());
  std::thread other([&] { ranks[1]->abort("rank 1: out of memory"); });
  const auto outputs = runner->run(given);
  other.join();
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(outputs.error().to_string().find("rank 1: out of memory"), std::string::npos);
}

}  // namespace
}  // namespace soapstone::parallel
