// The measured cost model against a backend that counts what is asked of it: each distinct launch
// is timed once, in this run or in an earlier one, and what cannot be timed is an estimate.
#include "cost/models/measured_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "ops/definition/registry.h"
#include "runtime/launches/host_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::cost {
namespace {

using core::Graph;
using runtime::Fusion;
using runtime::Launch;
using runtime::LaunchLayouts;
using runtime::Layout;

/// Does nothing but watch its buffers. Knows relu in place, and convolutions in channels-last.
class FakeBackend final : public runtime::HostBackend {
 public:
  int compiled = 0;
  int run = 0;
  bool saw_data_at_every_input = true;
  bool saw_in_place = false;
  std::vector<core::LiteralPtr> constants_seen;
  std::string refuses;  ///< Name of an operator that cannot be compiled.
  /// So many kernels to come are slow, as beside other work.
  int slow_kernels = 0;
  std::string kernel = "fake";  ///< Implementation of all kernels.

  const runtime::DeviceInfo& device() const override { return device_; }
  const runtime::FusionRules& fusion(Fusion fusion) const override {
    return runtime::generic_fusion(fusion);
  }
  void choose_layouts(const Graph& graph, const Launch& launch, std::span<const Layout>,
                      LaunchLayouts& wanted) const override {
    if (graph.node(launch.head).op->name != "conv") return;
    wanted.inputs[0] = wanted.outputs[0] = Layout::kChannelsLast;
  }

 private:
  class FakeKernel final : public runtime::HostKernel {
   public:
    FakeKernel(FakeBackend& backend, bool in_place, std::vector<bool> is_constant)
        : backend_(backend), in_place_(in_place), is_constant_(std::move(is_constant)),
          is_slow_(backend.slow_kernels > 0) {
      if (is_slow_) --backend.slow_kernels;
    }
    core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                     std::byte* scratch) override {
      ++backend_.run;
      if (is_slow_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        float first = 0;
        if (inputs[i]) std::memcpy(&first, inputs[i], sizeof first);
        backend_.saw_data_at_every_input &= is_constant_[i] ? !inputs[i] : inputs[i] && first != 0;
      }
      backend_.saw_in_place |= !inputs.empty() && inputs[0] == outputs[0];
      std::memset(scratch, 1, scratch_bytes());
      return core::Done{};
    }
    std::size_t scratch_bytes() const override { return 100; }
    std::optional<std::size_t> in_place_input() const override {
      return in_place_ ? std::optional<std::size_t>(0) : std::nullopt;
    }
    std::string implementation() const override { return backend_.kernel; }

   private:
    FakeBackend& backend_;
    bool in_place_;
    std::vector<bool> is_constant_;
    bool is_slow_;
  };

  core::Result<std::unique_ptr<runtime::HostKernel>>
  make_kernel(const Graph& graph, const Launch& launch, const LaunchLayouts&,
              const runtime::ConstantValue& constants, std::vector<std::string>*) override {
    const std::string& op = graph.node(launch.head).op->name;
    if (op == refuses) return core::unsupported("no kernel for " + op);
    ++compiled;
    std::vector<bool> is_constant;
    for (core::TensorId input : launch.inputs) {
      const core::LiteralPtr value = constants(input);
      is_constant.push_back(value != nullptr);
      if (value) constants_seen.push_back(value);
    }
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<FakeKernel>(*this, op == "relu", std::move(is_constant)));
  }
  core::Result<std::unique_ptr<runtime::HostKernel>> make_conversion(const core::TensorType&,
                                                                     Layout, Layout) override {
    ++compiled;
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<FakeKernel>(*this, false, std::vector{false}));
  }

  runtime::DeviceInfo device_{"fake", "none", 1};
};

const TimingOptions kQuick{.min_sample_us = 1, .samples = 3, .max_total_us = 1000};

constexpr std::string_view kTwoEqualMatmuls = R"(graph g
  x: f32[4, 4]
  w: f32[4, 4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
  v: f32[4, 4] = {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
  y = matmul(x, w)
  z = matmul(y, v)
  r = softmax(z; axis=1)
  return r)";

class MeasuredCostTest : public testing::Test {
 protected:
  std::unique_ptr<CostModel> model(CostDatabase* database = nullptr) {
    return make_measured_cost(backend_, Fusion::kFull, database, kQuick);
  }
  std::unique_ptr<CostDatabase> database() {
    return *CostDatabase::open(folder_.path() / "costs.db");
  }

  TemporaryFolder folder_;
  FakeBackend backend_;
};

TEST_F(MeasuredCostTest, EachDistinctLaunchIsTimedOnce) {
  auto costs = model();
  const Graph graph = graph_of(kTwoEqualMatmuls);
  const GraphCost first = costs->graph_cost(graph);
  EXPECT_EQ(first.launches, 3u);
  EXPECT_EQ(first.estimated_us, 0);
  EXPECT_GT(first.total_us, 0);
  EXPECT_GT(backend_.run, 0);
  // Small weights rotate through 32 copies of the matmul's kernel; softmax has none.
  EXPECT_EQ(backend_.compiled, 32 + 1);
  const int runs = backend_.run;
  EXPECT_EQ(costs->graph_cost(graph).total_us, first.total_us);
  EXPECT_EQ(backend_.run, runs) << "known launches are not timed again";
  EXPECT_TRUE(costs->needs_quiet_machine());
  EXPECT_EQ(costs->description(), "fake; none; threads 1");
}

TEST_F(MeasuredCostTest, BuffersHoldDataAndConstantsComeWithTheKernel) {
  model()->graph_cost(graph_of(kTwoEqualMatmuls));
  EXPECT_TRUE(backend_.saw_data_at_every_input);
  EXPECT_FALSE(backend_.constants_seen.empty());
}

TEST_F(MeasuredCostTest, CopiesOfAKernelShareNoWeights) {
  model()->graph_cost(graph_of(kTwoEqualMatmuls));
  std::set<const void*> places;
  for (const core::LiteralPtr& weight : backend_.constants_seen)
    places.insert(weight->bytes().data());
  EXPECT_EQ(places.size(), 32u) << "weights that copies share would come from the inner caches";
}

TEST_F(MeasuredCostTest, FoldedConstantsGetMadeUpValues) {
  model()->graph_cost(graph_of(R"(graph g
    x: f32[2, 2]
    w: f32[2, 2] = {1, 2, 3, 4}
    t = transpose(w; perm=[1, 0])
    y = matmul(x, t)
    return y)"));
  ASSERT_FALSE(backend_.constants_seen.empty());
  for (double value : backend_.constants_seen[0]->to_doubles()) {
    EXPECT_GE(value, 0.5);
    EXPECT_LT(value, 1.5);
  }
}

TEST_F(MeasuredCostTest, ASingleNumberKeepsItsValue) {
  model()->graph_cost(graph_of(R"(graph g
    x: f32[4]
    exponent: f32[1] = {2}
    y = pow(x, exponent)
    return y)"));
  ASSERT_FALSE(backend_.constants_seen.empty());
  EXPECT_EQ(backend_.constants_seen[0]->to_doubles()[0], 2);
}

TEST_F(MeasuredCostTest, IndicesStayWithinWhatTheyIndex) {
  model()->graph_cost(graph_of(R"(graph g
    table: f32[1, 4]
    x: f32[6]
    rows: i64[1] = {0}
    y = gather(table, rows; axis=0)
    return y)"));
  for (const auto& constant : backend_.constants_seen) EXPECT_EQ((*constant->to_ints())[0], 0);
}

TEST_F(MeasuredCostTest, WhatRunsInPlaceIsTimedInPlace) {
  model()->graph_cost(graph_of(R"(graph g
    x: f32[8]
    y = relu(x)
    return y)"));
  EXPECT_TRUE(backend_.saw_in_place);
  EXPECT_TRUE(backend_.saw_data_at_every_input);
}

TEST_F(MeasuredCostTest, ConversionsBetweenLayoutsCost) {
  auto costs = model();
  const Graph graph = graph_of(R"(graph g
    x: f32[1, 2, 4, 4]
    w: f32[3, 2, 3, 3]
    y = conv(x, w)
    return y)");
  const auto items = costs->breakdown(graph);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].what, "convert to channels-last [1, 2, 4, 4]");
  EXPECT_EQ(items[1].what, "conv [1, 3, 2, 2]");
  EXPECT_EQ(items[2].what, "convert to row-major [1, 3, 2, 2]");
  EXPECT_EQ(items[1].implementation, "fake");
  EXPECT_EQ(costs->graph_cost(graph).launches, 3u);
}

TEST_F(MeasuredCostTest, TheDatabaseSavesMeasuringInTheNextRun) {
  const Graph graph = graph_of(kTwoEqualMatmuls);
  auto kept = database();
  const double before = model(kept.get())->graph_cost(graph).total_us;
  backend_.compiled = 0;
  const double after = model(kept.get())->graph_cost(graph).total_us;
  EXPECT_EQ(backend_.compiled, 0);
  EXPECT_EQ(after, before) << "to the last bit";
}

constexpr std::string_view kOneSoftmax = R"(graph g
  x: f32[4, 4]
  y = softmax(x; axis=1)
  return y)";

TEST_F(MeasuredCostTest, WhatIsFarAboveTheRooflineIsTimedAgain) {
  backend_.slow_kernels = 2;
  EXPECT_LT(model()->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  EXPECT_EQ(backend_.compiled, 3);
}

TEST_F(MeasuredCostTest, WhatStaysFarAboveItIsTimedAFewTimes) {
  backend_.slow_kernels = 1000;
  EXPECT_GT(model()->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  EXPECT_EQ(backend_.compiled, 3);
}

TEST_F(MeasuredCostTest, ReferenceKernelsAreSlowAndTimedOnce) {
  backend_.slow_kernels = 1000;
  backend_.kernel = "reference";
  EXPECT_GT(model()->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  EXPECT_EQ(backend_.compiled, 1);
}

/// A cost that was recorded beside other work does not stay for ever.
TEST_F(MeasuredCostTest, WhatWasRecordedFarAboveTheRooflineIsTimedAgain) {
  auto kept = database();
  backend_.slow_kernels = 3;
  EXPECT_GT(model(kept.get())->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  EXPECT_LT(model(kept.get())->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  backend_.compiled = 0;
  EXPECT_LT(model(kept.get())->graph_cost(graph_of(kOneSoftmax)).total_us, 1000);
  EXPECT_EQ(backend_.compiled, 0) << "the new cost was kept";
}

TEST_F(MeasuredCostTest, WhatCannotBeCompiledIsEstimated) {
  backend_.refuses = "softmax";
  auto costs = model();
  const GraphCost total = costs->graph_cost(graph_of(kTwoEqualMatmuls));
  EXPECT_GT(total.estimated_us, 0);
  EXPECT_LT(total.estimated_us, total.total_us);
  const auto items = costs->breakdown(graph_of(kTwoEqualMatmuls));
  EXPECT_TRUE(items[2].cost.estimated);
  EXPECT_EQ(items[2].implementation, "estimate: no kernel for softmax");
  EXPECT_FALSE(items[0].cost.estimated);
}

TEST_F(MeasuredCostTest, EstimatesAreNotKept) {
  backend_.refuses = "softmax";
  auto kept = database();
  model(kept.get())->graph_cost(graph_of(kTwoEqualMatmuls));
  backend_.refuses = "";
  EXPECT_EQ(model(kept.get())->graph_cost(graph_of(kTwoEqualMatmuls)).estimated_us, 0);
}

TEST_F(MeasuredCostTest, RecordedCostsMeasureNothing) {
  auto kept = database();
  const Graph graph = graph_of(kTwoEqualMatmuls);
  const double measured = model(kept.get())->graph_cost(graph).total_us;
  backend_.compiled = 0;
  auto recorded = make_recorded_cost(backend_, Fusion::kFull, kept.get(), backend_.device().key());
  EXPECT_EQ(recorded->graph_cost(graph).total_us, measured);
  EXPECT_FALSE(recorded->needs_quiet_machine());
  auto elsewhere = make_recorded_cost(backend_, Fusion::kFull, kept.get(), "another device");
  EXPECT_EQ(elsewhere->graph_cost(graph).estimated_share(), 1);
  EXPECT_EQ(elsewhere->breakdown(graph)[0].implementation, "estimate: no cost of it was recorded");
  EXPECT_EQ(backend_.compiled, 0);
}

/// Times that were taken while the machine did other things. What they are measured as again, here,
/// is far below them, however busy the machine is now.
class ContradictionTest : public MeasuredCostTest {
 protected:
  /// The roofline alone has no doubt below 500.
  static constexpr double kWrongUs = 490;

  void SetUp() override { kept_ = database(); }
  void put(const std::string& signature, double us, int samples = 9) {
    ASSERT_TRUE(kept_->store(backend_.device().key(), signature, {us, 0, samples, "fake"}));
  }
  Measurement known(const std::string& signature) {
    return kept_->find(backend_.device().key(), signature).value();
  }
  /// By a run of its own, which counts its kernels anew.
  double cost_of(const Graph& graph) {
    backend_.compiled = 0;
    return model(kept_.get())->graph_cost(graph).total_us;
  }

  std::unique_ptr<CostDatabase> kept_;
  const Graph fused_ = graph_of(R"(graph g
    x: f32[4, 4]   w: f32[4, 4]
    y = matmul(x, w)
    r = relu(y)
    return r)");
  const std::string matmul_ = "matmul(%0, %1) | %0: f32[4, 4] | %1: f32[4, 4] | result: f32[4, 4]",
                    both_ = "matmul(%0, %1) -> relu(%) | %0: f32[4, 4] | %1: f32[4, 4] | result: "
                            "f32[4, 4]",
                    relu_ = "relu(%0) | %0: f32[4, 4] | result: f32[4, 4]";
};

TEST_F(ContradictionTest, AFusedLaunchThatTakesLongerThanItsPartsIsMeasuredAgain) {
  put(both_, kWrongUs);
  put(matmul_, 16);
  EXPECT_LT(cost_of(fused_), kWrongUs / 2);
  EXPECT_LT(known(both_).cost_us, kWrongUs / 2) << "the next run knows it, too";
  EXPECT_GT(known(both_).samples, 9);
  EXPECT_LT(known(relu_).cost_us, kWrongUs / 2) << "measured, as the matmul alone leaves a doubt";
  EXPECT_EQ(known(matmul_).cost_us, 16);
}

TEST_F(ContradictionTest, NoPartMeasuredIsNoContradiction) {
  put(both_, kWrongUs);
  EXPECT_EQ(cost_of(fused_), kWrongUs);
  EXPECT_EQ(backend_.compiled, 0);
}

TEST_F(ContradictionTest, WhatItsPartsExplainIsNotMeasuredAgain) {
  put(both_, 20);
  put(matmul_, 16);
  EXPECT_EQ(cost_of(fused_), 20);
  EXPECT_EQ(backend_.compiled, 0);
}

TEST_F(ContradictionTest, ALaunchThatTakesLongerThanALargerOneIsMeasuredAgain) {
  put(relu_, kWrongUs);
  put("relu(%0) | %0: f32[8, 4] | result: f32[8, 4]", 3);
  const Graph graph = graph_of(R"(graph g
    x: f32[4, 4]
    y = relu(x)
    return y)");
  EXPECT_LT(cost_of(graph), kWrongUs / 2);
  EXPECT_LT(known(relu_).cost_us, kWrongUs / 2);
}

TEST_F(ContradictionTest, OtherOperatorsTypesAndSmallerSizesSayNothing) {
  put(relu_, kWrongUs);
  put("relu(%0) | %0: f32[8, 2] | result: f32[8, 2]", 3);
  put("relu(%0) | %0: f32[1, 8] | result: f32[1, 8]", 3);
  put("relu(%0) | %0: f16[8, 8] | result: f16[8, 8]", 3);
  put("abs(%0) | %0: f32[8, 8] | result: f32[8, 8]", 3);
  const Graph graph = graph_of(R"(graph g
    x: f32[4, 4]
    y = relu(x)
    return y)");
  EXPECT_EQ(cost_of(graph), kWrongUs);
  EXPECT_EQ(backend_.compiled, 0);
}

/// A launch may really take longer than others say that it should.
TEST_F(ContradictionTest, WhatStaysContradictedIsBelievedInTheEnd) {
  put(both_, kWrongUs);
  put(matmul_, 0);
  put(relu_, 0);
  int runs = 0;
  for (int samples = 0; runs < 20 && samples != known(both_).samples; ++runs) {
    samples = known(both_).samples;
    cost_of(fused_);
  }
  EXPECT_GT(runs, 1);
  EXPECT_LT(runs, 20);
  const double believed_us = known(both_).cost_us;
  EXPECT_NEAR(cost_of(fused_), believed_us, 1e-3);
  EXPECT_EQ(backend_.compiled, 0);
}

/// A session in which there is time for two launches: the next one goes on where it ended, and
/// measures nothing again.
TEST_F(MeasuredCostTest, GoesOnInTheNextSessionWhereTimeWasOver) {
  const Graph graph = graph_of(R"(graph g
    x: f32[4, 4]
    a = relu(x)
    b = softmax(a; axis=1)
    c = tanh(b)
    d = softmax(c; axis=0)
    e = exp(d)
    return e)");
  auto kept = database();
  const auto known = [&] { return kept->entries(backend_.device().key()).size(); };
  std::vector<std::size_t> after;
  for (int session = 0; session < 8 && (after.empty() || known() < 5); ++session) {
    int timed = 0;
    TimingOptions options = kQuick;
    options.is_over = [&] { return timed >= 2; };
    options.kept = [&] { ++timed; };
    const GraphCost cost =
        make_measured_cost(backend_, Fusion::kFull, kept.get(), options)->graph_cost(graph);
    EXPECT_EQ(cost.launches, 5u);
    EXPECT_EQ(cost.estimated_us > 0, known() < 5);
    after.push_back(known());
  }
  EXPECT_EQ(after, (std::vector<std::size_t>{2, 4, 5}));
}

TEST_F(MeasuredCostTest, ComparesTwoExecutables) {
  auto reference = runtime::make_reference_backend();
  const Graph slow_graph = graph_of(R"(graph g
    x: f32[120, 120]
    y = matmul(x, x)
    return y)");
  const Graph fast_graph = graph_of(R"(graph g
    x: f32[120, 120]
    y = neg(x)
    return y)");
  auto slow = *runtime::Executable::make(slow_graph, *reference);
  auto fast = *runtime::Executable::make(fast_graph, *reference);
  const Comparison comparison = *compare_and_time(slow, fast, 9, 1e5);
  EXPECT_GT(comparison.ratio.low, 1);
  EXPECT_LE(comparison.ratio.low, comparison.ratio.median);
  EXPECT_LE(comparison.ratio.median, comparison.ratio.high);
  EXPECT_GT(comparison.a.median_us, comparison.b.median_us);
  runtime::Executable* const both[] = {&slow, &fast};
  const auto timings = *time_in_turn(both, 7, 1e6);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].rounds, 7);
  EXPECT_GT(timings[0].median_us, timings[1].median_us);
}

}  // namespace
}  // namespace soapstone::cost
