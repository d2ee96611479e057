// Launches that libraries run, on a fake driver, and the choice between kernels by measurement.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cost/models/measured_cost.h"
#include "cost/timing/kernel_choice.h"
#include "tests/gpu/fake_driver.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/gpu/transformer_layer.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::Fusion;
using test::FakeCompiler;
using test::FakeCublasLt;
using test::FakeDriver;

constexpr test::LayerSizes kSmallLayer{5, 3, 4, 20};

TEST(GpuLibraries, RunsProductsByALibrary) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = test::cublaslt_of(fake);
  {
    auto backend =
        make_gpu_backend(fake.driver(), 0, compiler.compiler(), {nullptr, cublaslt.library()});
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    const core::Graph graph = soapstone::graph_of(test::transformer_layer(kSmallLayer));
    runtime::test::expect_right(graph, **backend, Fusion::kFull);
    // Six products, the softmax, two norms, and a GELU by erf behind the fifth product.
    EXPECT_EQ(runtime::plan_execution(graph, **backend, Fusion::kFull).launches.size(), 9u);
    EXPECT_EQ(cublaslt.products(), 6);
    EXPECT_EQ(fake.captured(), 10u);
    EXPECT_EQ(fake.graph_launches(), 1);
    runtime::test::expect_right(graph, **backend, Fusion::kNone);
  }
  EXPECT_EQ(fake.alive(), 0u);
  EXPECT_EQ(cublaslt.alive(), 0u);
}

/// Attention that a library could compute as one is also scores, softmax and context.
TEST(GpuLibraries, ComputesAttentionInParts) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = test::cublaslt_of(fake);
  test::FakeCudnn cudnn;
  {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler(),
                                    {cudnn.library(), cublaslt.library()});
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    const core::Graph graph = soapstone::graph_of(test::transformer_layer(kSmallLayer));
    const auto plan = runtime::plan_execution(graph, **backend, Fusion::kFull);
    EXPECT_EQ(plan.launches.size(), 7u);
    int in_parts = 0;
    for (std::size_t k = 0; k < plan.launches.size(); ++k) {
      const auto ways = (*backend)->candidates(graph, plan.launches[k], plan.layouts[k]);
      // The fake cuDNN computes nothing.
      for (const std::string way : {"cuBLASLt 0", "in parts", "generated"})
        if (std::ranges::find(ways, way) != ways.end()) {
          in_parts += way == "in parts" && ways.front() == "cuDNN 0";
          (*backend)->choose(runtime::launch_signature(graph, plan.launches[k], plan.layouts[k]),
                             way);
          break;
        }
    }
    EXPECT_EQ(in_parts, 2) << "that, and the product with a GELU by erf";
    runtime::test::expect_right(graph, **backend, Fusion::kFull);
    EXPECT_EQ(cudnn.executions(), 0);
    EXPECT_EQ(cublaslt.products(), 6);
  }
  EXPECT_EQ(fake.alive() + cublaslt.alive() + cudnn.alive(), 0u);
}

constexpr const char* kRunConvolution =
    "\n  x: f32[2, 3, 6, 5]\n  w: f32[4, 3, 3, 3]\n  b: f32[4]\n  t = conv(x, w, b)\n"
    "  y = relu(t)\n  return y\n";

constexpr std::uint64_t kFirstInput = 1 << 20, kInputStep = 1 << 14, kOutput = 1 << 21;

/// Runs the only launch of a graph by a cuDNN that computes nothing.
core::Status run_by_cudnn(const char* text, FakeDriver& fake, FakeCompiler& compiler,
                          test::FakeCudnn& cudnn) {
  const core::Graph graph = runtime::test::parse(text);
  SOAPSTONE_ASSIGN_OR_RETURN(auto backend, make_gpu_backend(fake.driver(), 0, compiler.compiler(),
                                                            {cudnn.library(), nullptr}));
  const auto plan = runtime::plan_execution(graph, *backend, Fusion::kFull);
  EXPECT_EQ(plan.launches.size(), 1u);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto kernel,
                             backend->compile(
                                 graph, plan.launches[0], plan.layouts[0],
                                 [](core::TensorId) { return core::LiteralPtr(); }, nullptr));
  // Where cuDNN fails, the kernel is generated.
  if (kernel->implementation() != "cuDNN 0") return core::unavailable("no cuDNN: 5000");
  runtime::KernelCall call{kernel.get()};
  for (std::size_t k = 0; k < plan.launches[0].inputs.size(); ++k)
    call.inputs.emplace_back(kFirstInput + k * kInputStep);
  call.outputs = {runtime::DeviceAddress(kOutput)};
  call.scratch = runtime::DeviceAddress(1 << 22);
  SOAPSTONE_ASSIGN_OR_RETURN(auto queue, backend->make_queue());
  queue->enqueue(std::span(&call, 1));
  return queue->wait();
}

/// What the last execution was given.
std::set<std::uintptr_t> addresses(const test::FakeCudnn& cudnn) {
  std::set<std::uintptr_t> given;
  for (void* pointer : cudnn.pointers()) given.insert(reinterpret_cast<std::uintptr_t>(pointer));
  return given;
}

TEST(GpuLibraries, GivesCudnnWhatItComputesWith) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  test::FakeCudnn cudnn;
  const core::Status status = run_by_cudnn(kRunConvolution, fake, compiler, cudnn);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  EXPECT_EQ(cudnn.executions(), 1);
  EXPECT_EQ(addresses(cudnn), (std::set<std::uintptr_t>{kFirstInput, kFirstInput + kInputStep,
                                                        kFirstInput + 2 * kInputStep, kOutput}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cudnn.workspace()), std::uintptr_t{1 << 22});
}

/// Windows of two images with one mask: the second time queries, keys, values and the result lie
/// behind the two windows of the first image, and the mask where it was.
TEST(GpuLibraries, RunsAttentionOfShiftedWindowsOncePerImage) {
  constexpr const char* kWindows =
      "\n  q: f32[4, 3, 5, 8]\n  k: f32[4, 3, 5, 8]\n  v: f32[4, 3, 5, 8]\n"
      "  m: f32[1, 2, 1, 5, 5]\n  kt = transpose(k; perm=[0, 1, 3, 2])\n  s = matmul(q, kt)\n"
      "  t = reshape(s; shape=[2, 2, 3, 5, 5])\n  u = add(t, m)\n"
      "  w = reshape(u; shape=[4, 3, 5, 5])\n  p = softmax(w; axis=3)\n  y = matmul(p, v)\n"
      "  return y\n";
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  test::FakeCudnn cudnn;
  const core::Status status = run_by_cudnn(kWindows, fake, compiler, cudnn);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  EXPECT_EQ(cudnn.executions(), 2);
  constexpr std::uintptr_t kImage = 2 * 3 * 5 * 8 * sizeof(float);
  const std::set<std::uintptr_t> given = addresses(cudnn);
  std::map<std::uintptr_t, int> offsets;  // of inputs
  for (const std::uintptr_t address : given)
    if (address >= kFirstInput && address < kOutput)
      ++offsets[(address - kFirstInput) % kInputStep];
  EXPECT_EQ(offsets, (std::map<std::uintptr_t, int>{{0, 1}, {kImage, 3}}));
  EXPECT_TRUE(given.contains(kOutput + kImage));
}

/// A library that fails is left out, or one message names its call; nothing is lost.
TEST(GpuLibraries, LosesNothingWhereverCudnnFails) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  test::FakeCudnn whole;
  ASSERT_TRUE(run_by_cudnn(kRunConvolution, fake, compiler, whole).ok());
  EXPECT_EQ(whole.alive(), 0u);
  for (int k = 0; k < whole.calls(); ++k) {
    test::FakeCudnn cudnn(k);
    const core::Status status = run_by_cudnn(kRunConvolution, fake, compiler, cudnn);
    EXPECT_EQ(cudnn.alive(), 0u) << "call " << k;
    EXPECT_EQ(fake.alive(), 0u) << "call " << k;
    ASSERT_FALSE(status.ok()) << "call " << k;
    EXPECT_NE(status.error().message.find("5000"), std::string::npos) << status.error().message;
  }
}

TEST(GpuLibraries, LosesNothingWhereverCublasLtFails) {
  FakeCompiler compiler;
  const core::Graph graph = runtime::test::parse(
      "\n  x: f32[4, 6]\n  w: f32[6, 8]\n  b: f32[8]\n  t = matmul(x, w)\n  a = add(t, b)\n"
      "  y = gelu(a)\n  return y\n");
  const auto run = [&](int failing, int& calls) -> core::Status {
    FakeDriver fake(compiler);
    FakeCublasLt cublaslt(failing, [&](void* stream, std::function<void()> work) {
      fake.put(stream, std::move(work));
    });
    const core::Status status = [&]() -> core::Status {
      SOAPSTONE_ASSIGN_OR_RETURN(
          auto backend,
          make_gpu_backend(fake.driver(), 0, compiler.compiler(), {nullptr, cublaslt.library()}));
      SOAPSTONE_ASSIGN_OR_RETURN(auto program,
                                 runtime::Executable::make(graph, *backend, {Fusion::kFull}));
      const auto inputs = runtime::random_inputs(graph, 1);
      SOAPSTONE_ASSIGN_OR_RETURN(const auto outputs, program.run(inputs));
      runtime::test::expect_close(outputs[0].to_doubles(),
                                  runtime::test::expected(graph, inputs)[0], 1e-4, "gelu");
      return core::Done{};
    }();
    EXPECT_EQ(fake.alive() + cublaslt.alive(), 0u) << "call " << failing;
    calls = cublaslt.calls();
    return status;
  };
  int calls = 0, failed = 0;
  ASSERT_TRUE(run(-1, calls).ok());
  const int all = calls;
  for (int k = 0; k < all; ++k) {
    const core::Status status = run(k, calls);
    if (status) continue;  // generated instead, and right
    ++failed;
    EXPECT_NE(status.error().message.find("14 (A_TEST)"), std::string::npos)
        << status.error().message;
  }
  EXPECT_GT(failed, 0);
}

/// A plan that needs more than a run may have is not run.
TEST(GpuLibraries, AreLeftOutWhoseWorkspaceIsTooLarge) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  test::FakeCudnn cudnn;  // each plan needs 32 bytes
  const core::Graph graph = runtime::test::parse(kRunConvolution);
  for (const std::size_t limit : {std::size_t{31}, std::size_t{32}}) {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler(),
                                    {cudnn.library(), nullptr}, {.workspace_limit = limit});
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    const auto plan = runtime::plan_execution(graph, **backend, Fusion::kFull);
    const auto kernel = (*backend)->compile(
        graph, plan.launches.at(0), plan.layouts.at(0),
        [](core::TensorId) { return core::LiteralPtr(); }, nullptr);
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    EXPECT_EQ((*kernel)->implementation(), limit == 32 ? "cuDNN 0" : "generated");
  }
}

/// Where no library has the whole, it is measured in two parts, not as a generated contraction.
TEST(GpuLibraries, AreMeasuredWithWhatStandsBehindThem) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = test::cublaslt_of(fake);
  auto backend =
      make_gpu_backend(fake.driver(), 0, compiler.compiler(), {nullptr, cublaslt.library()});
  ASSERT_TRUE(backend.ok()) << backend.error().to_string();
  const core::Graph graph = runtime::test::parse(
      "\n  x: f32[4, 6]\n  w: f32[6, 8]\n  t = matmul(x, w)\n  y = gelu(t)\n  return y\n");
  const auto plan = runtime::plan_execution(graph, **backend, Fusion::kFull);
  ASSERT_EQ(plan.launches.size(), 1u);
  const std::string name = "in parts";
  EXPECT_EQ((*backend)->candidates(graph, plan.launches[0], plan.layouts[0]),
            std::vector<std::string>{name});
  const auto measured =
      cost::time_best_kernel(**backend, graph, plan.launches[0], plan.layouts[0],
                             {.min_sample_us = 1, .samples = 3, .max_total_us = 100});
  ASSERT_TRUE(measured.ok()) << measured.error().to_string();
  EXPECT_EQ(measured->implementation, name);
}

/// The fastest candidate is found, kept in the database, and used by the next backend.
TEST(GpuLibraries, ChoosesKernelsByMeasurement) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = test::cublaslt_of(fake);
  const Libraries libraries{nullptr, cublaslt.library()};
  const auto path =
      std::filesystem::temp_directory_path() / ("gpu_choices_" + std::to_string(getpid()) + ".db");
  std::filesystem::remove(path);
  const core::Graph graph = runtime::test::parse(
      "\n  x: f32[4, 6]\n  w: f32[6, 8]\n  y = matmul(x, w)\n  z = softmax(y; axis=1)\n"
      "  return z\n");
  auto database = cost::CostDatabase::open(path);
  ASSERT_TRUE(database.ok());
  const cost::TimingOptions options{.min_sample_us = 1, .samples = 3, .max_total_us = 100};
  std::vector<std::string> chosen;
  {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler(), libraries);
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    const auto plan = runtime::plan_execution(graph, **backend, Fusion::kFull);
    ASSERT_EQ(plan.launches.size(), 2u);
    EXPECT_EQ((*backend)->candidates(graph, plan.launches[0], plan.layouts[0]),
              (std::vector<std::string>{"cuBLASLt 0", "cuBLASLt 1"}));
    EXPECT_GT((*backend)->candidates(graph, plan.launches[1], plan.layouts[1]).size(), 2u);
    const auto model = cost::make_measured_cost(**backend, Fusion::kFull, database->get(), options);
    EXPECT_EQ(model->graph_cost(graph).estimated_us, 0);
    for (const auto& item : model->breakdown(graph)) chosen.push_back(item.implementation);
  }
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].rfind("cuBLASLt ", 0), 0u);
  EXPECT_EQ(chosen[1].rfind("generated", 0), 0u);
  auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler(), libraries);
  ASSERT_TRUE(backend.ok());
  const auto plan = runtime::plan_execution(graph, **backend, Fusion::kFull);
  const core::Status stored = (*database)->store(
      (*backend)->device().key(),
      runtime::launch_signature(graph, plan.launches[0], plan.layouts[0]), {1, 0, 3, "cuBLASLt 1"});
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(cost::recall_kernels(**backend, graph, Fusion::kFull, **database), 2u);
  const auto kernel = (*backend)->compile(
      graph, plan.launches[0], plan.layouts[0], [](core::TensorId) { return core::LiteralPtr(); },
      nullptr);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_EQ((*kernel)->implementation(), "cuBLASLt 1");
  EXPECT_EQ((*kernel)->scratch_bytes(), 64u);
  (*database).reset();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace soapstone::gpu
