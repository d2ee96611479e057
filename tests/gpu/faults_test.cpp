// A driver and libraries that fail at each call in turn, while whole graphs run as captured ones
// with attention by cuDNN, while launches are measured, and while measure-costs goes over a model:
// nothing is lost, one message says which call failed, and no kernel that did not run has a cost.
#include <gtest/gtest.h>

#include <set>

#include "cost/models/measured_cost.h"
#include "jobs/measure/measure_costs.h"
#include "models/onnx/format/onnx_model.h"
#include "tests/gpu/fake_driver.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/gpu/transformer_layer.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::gpu {
namespace {

using runtime::Fusion;
using test::FakeCompiler;
using test::FakeCublasLt;
using test::FakeCudnn;
using test::FakeDriver;

/// A kernel takes 7 us by the clock of the fake.
constexpr double kKernelUs = 6.9;

/// The call of one of them that fails; −1: none.
struct FailingCall {
  int driver = -1, cudnn = -1, cublaslt = -1;
  FakeDriver::After after = FakeDriver::After::kRecovers;
};

/// A driver with both libraries, as long as a test needs them.
class FakeCard {
 public:
  /// `computes`: whether kernels and products are more than a place in the stream.
  FakeCard(const FakeCompiler& compiler, const FailingCall& failing, bool computes = true)
      : driver(compiler, failing.driver, failing.after, computes),
        cudnn(failing.cudnn, put(computes)), cublaslt(failing.cublaslt, put(computes)) {}
  core::Result<std::unique_ptr<runtime::Backend>> open(FakeCompiler& compiler) {
    return make_gpu_backend(driver.driver(), 0, compiler.compiler(),
                            {cudnn.library(), cublaslt.library()});
  }
  std::size_t alive() const { return driver.alive() + cudnn.alive() + cublaslt.alive(); }

  FakeDriver driver;
  FakeCudnn cudnn;
  FakeCublasLt cublaslt;

 private:
  FakeCublasLt::Put put(bool computes) {
    return [=, this](void* stream, std::function<void()> work) {
      driver.put(
          stream, computes ? std::move(work) : [] {});
    };
  }
};

/// What a call that failed says, whoever was called.
bool names_the_call(const std::string& message) {
  return message.find("says 999 (CUDA_ERROR_OF_A_TEST)") != std::string::npos ||
         message.find("says 5000 (A_TEST)") != std::string::npos ||
         message.find("says 14 (A_TEST)") != std::string::npos;
}

/// One line, with one call that failed.
void expect_one_message(const core::Error& error, const std::string& what) {
  EXPECT_EQ(error.code, core::ErrorCode::kUnavailable) << what;
  EXPECT_TRUE(names_the_call(error.message)) << what << ": " << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

constexpr test::LayerSizes kSmallLayer{5, 3, 4, 20};

/// Two branches that need streams of their own.
constexpr const char* kBranches =
    "graph branches\n  x: f32[4, 6]\n  w: f32[6, 8]\n  v: f32[6, 4]\n  u: f32[4, 3]\n"
    "  a = matmul(x, w)\n  b = matmul(x, v)\n  c = matmul(b, u)\n  d = softmax(a; axis=1)\n"
    "  e = softmax(c; axis=0)\n  return d, e, c\n";

/// Makes, runs and times the graph.
core::Status run_and_time(runtime::Backend& backend, const core::Graph& graph) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto program,
                             runtime::Executable::make(graph, backend, {Fusion::kFull}));
  SOAPSTONE_RETURN_IF_ERROR(program.run(runtime::random_inputs(graph, 1)));
  SOAPSTONE_ASSIGN_OR_RETURN(const double us, program.time_us(2));
  EXPECT_GE(us, 2 * kKernelUs) << "a failure took no time";
  return core::Done{};
}

class GpuFaults : public testing::Test {
 protected:
  /// The calls that a graph takes; one of them fails.
  FailingCall run(const core::Graph& graph, const FailingCall& failing, core::Status& status) {
    FakeCard card(compiler_, failing);
    status = [&]() -> core::Status {
      SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, card.open(compiler_));
      return run_and_time(*backend, graph);
    }();
    EXPECT_EQ(card.alive(), 0u) << failing.driver << " " << failing.cudnn << " "
                                << failing.cublaslt;
    executions_ = card.cudnn.executions();
    graph_launches_ = card.driver.graph_launches();
    return {card.driver.calls(), card.cudnn.calls(), card.cublaslt.calls()};
  }

  /// Each call of the kind that `member` says, in turn.
  void fail_each(const core::Graph& graph, int FailingCall::*member, FakeDriver::After after) {
    core::Status status = core::Done{};
    const FailingCall whole = run(graph, {}, status);
    ASSERT_TRUE(status.ok()) << status.error().to_string();
    int failed = 0;
    for (int k = 0; k < whole.*member; ++k) {
      FailingCall failing;
      failing.*member = k;
      failing.after = after;
      run(graph, failing, status);
      if (status) continue;  // given back, or a kernel was generated instead
      ++failed;
      expect_one_message(status.error(), std::to_string(k));
    }
    EXPECT_GT(failed, 0);
  }

  FakeCompiler compiler_;
  int executions_ = 0, graph_launches_ = 0;
};

TEST_F(GpuFaults, OfTheDriverInACapturedGraphWithAttention) {
  const core::Graph graph = graph_of(test::transformer_layer(kSmallLayer));
  core::Status status = core::Done{};
  run(graph, {}, status);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  EXPECT_GE(executions_, 1) << "attention";
  EXPECT_GE(graph_launches_, 3) << "run once, and timed";
  fail_each(graph, &FailingCall::driver, FakeDriver::After::kRecovers);
}

TEST_F(GpuFaults, OfADriverThatIsLostInACapturedGraph) {
  fail_each(graph_of(test::transformer_layer(kSmallLayer)), &FailingCall::driver,
            FakeDriver::After::kStaysLost);
}

TEST_F(GpuFaults, OfTheDriverInBranches) {
  for (const auto after : {FakeDriver::After::kRecovers, FakeDriver::After::kStaysLost})
    fail_each(graph_of(kBranches), &FailingCall::driver, after);
}

TEST_F(GpuFaults, OfCudnnInACapturedGraphWithAttention) {
  fail_each(graph_of(test::transformer_layer(kSmallLayer)), &FailingCall::cudnn,
            FakeDriver::After::kRecovers);
}

TEST_F(GpuFaults, OfCublasLtInACapturedGraphWithAttention) {
  fail_each(graph_of(test::transformer_layer(kSmallLayer)), &FailingCall::cublaslt,
            FakeDriver::After::kRecovers);
}

const cost::TimingOptions kQuick{.min_sample_us = 1, .samples = 3, .max_total_us = 100};

/// A launch is measured, or estimated and says why; what did not run has no cost.
TEST_F(GpuFaults, WhileLaunchesAreMeasured) {
  const core::Graph graph = graph_of(
      "graph g\n  x: f32[4, 6]\n  w: f32[6, 8]\n  y = matmul(x, w)\n  z = softmax(y; axis=1)\n"
      "  return z\n");
  const auto measure = [&](const FailingCall& failing) {
    FakeCard card(compiler_, failing);
    int estimates = 0;
    if (const auto backend = card.open(compiler_)) {
      auto database = cost::CostDatabase::in_memory();
      const auto model =
          cost::make_measured_cost(**backend, Fusion::kFull, database->get(), kQuick);
      for (const cost::CostModel::Item& item : model->breakdown(graph)) {
        estimates += item.cost.estimated;
        EXPECT_EQ(item.cost.estimated, names_the_call(item.implementation)) << item.implementation;
      }
      for (const auto& entry : (*database)->entries((*backend)->device().key()))
        EXPECT_GE(entry.measurement.cost_us, kKernelUs) << entry.signature;
    } else {
      expect_one_message(backend.error(), "open");
    }
    EXPECT_EQ(card.alive(), 0u) << failing.driver;
    return std::pair{card.driver.calls(), estimates};
  };
  const auto [calls, none] = measure({});
  EXPECT_EQ(none, 0);
  int estimates = 0;
  for (const auto after : {FakeDriver::After::kRecovers, FakeDriver::After::kStaysLost})
    for (int k = 0; k < calls; k += 7) estimates += measure({.driver = k, .after = after}).second;
  EXPECT_GT(estimates, 0);
}

/// Its file keeps what was measured before the device was lost.
TEST_F(GpuFaults, WhileCostsOfAModelAreMeasured) {
  const TemporaryFolder folder;
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  const std::string model = folder.path() / "model.onnx";
  const core::Graph graph =
      graph_of("graph g\n  x: f32[4, 6]\n  w: f32[6, 8]\n  v: f32[8, 3]\n  y = matmul(x, w)\n"
               "  z = relu(y)\n  s = matmul(z, v)\n  return s\n");
  ASSERT_TRUE(models::write_onnx(graph, *models::new_header(), model).ok());
  const auto measure = [&](const FailingCall& failing, std::size_t& lines) {
    FakeCard card(compiler_, failing, false);  // measurements of a device's peak are large
    jobs::MeasureRequest request;
    request.models = {model};
    request.output = folder.path() / ("costs" + std::to_string(failing.driver) + ".jsonl");
    request.time_s = 60;
    request.rules.text = "rule no\n  x: [n]\n  source\n    y = relu(x)\n  target\n"
                         "    z = relu(x)\n    y = relu(z)\n";
    request.rules.only = {"no"};
    core::Status status = [&]() -> core::Status {
      SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, card.open(compiler_));
      SOAPSTONE_RETURN_IF_ERROR(jobs::measure_costs(request, *backend));
      return core::Done{};
    }();
    EXPECT_EQ(card.alive(), 0u) << failing.driver;
    const auto database = cost::CostDatabase::in_memory();
    const auto read = (*database)->import_json_lines(request.output);
    lines = read ? *read : 0;
    return std::pair{card.driver.calls(), status};
  };
  std::size_t all = 0, some = 0;
  const auto [calls, status] = measure({}, all);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  ASSERT_GT(all, 1u);
  std::set<std::size_t> kept;
  for (int k = 0; k < calls; k += calls / 15 + 1) {
    const auto [made, lost] = measure({.driver = k, .after = FakeDriver::After::kStaysLost}, some);
    if (made <= k || lost.ok()) {  // it ended before, or had only memory to give back
      EXPECT_EQ(some, all) << k;
      continue;
    }
    expect_one_message(lost.error(), std::to_string(k));
    kept.insert(some);
  }
  EXPECT_GT(kept.size(), 1u) << "more of it the later the device is lost";
  EXPECT_EQ(measure({.driver = calls / 2}, some).second.ok(), true) << "it recovers";
}

}  // namespace
}  // namespace soapstone::gpu
