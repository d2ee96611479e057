// The executor on a backend whose device is a fake: memory, queue, stopwatch and kernels work
// together, and nothing is lost whichever call of the driver fails.
#include <gtest/gtest.h>

#include "tests/gpu/fake_driver.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/gpu/kernel_checks.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::Fusion;
using test::FakeCompiler;
using test::FakeCublasLt;
using test::FakeDriver;

constexpr const char* kGraph =
    "\n  x: f32[4, 6]\n  w: f32[6, 8]\n  b: f32[8]\n  t = matmul(x, w)\n  a = add(t, b)\n"
    "  k = full(; shape=[8], value=0.5)\n  u = mul(a, k)\n  v = relu(u)\n  s, r = split(v; axis=0, "
    "sizes=[1, 3])\n  n = neg(r)\n"
    "  y = softmax(n; axis=1)\n  return y, s\n";

/// Makes a backend and an executable, runs it, and times nothing.
core::Result<std::vector<core::Literal>> run_on(FakeDriver& fake, FakeCompiler& compiler) {
  FakeCublasLt cublaslt = test::cublaslt_of(fake);
  SOAPSTONE_ASSIGN_OR_RETURN(auto backend, make_gpu_backend(fake.driver(), 0, compiler.compiler(),
                                                            {nullptr, cublaslt.library()}));
  const core::Graph graph = runtime::test::parse(kGraph);
  SOAPSTONE_ASSIGN_OR_RETURN(auto program,
                             runtime::Executable::make(graph, *backend, {Fusion::kFull}));
  SOAPSTONE_ASSIGN_OR_RETURN(auto outputs, program.run(runtime::random_inputs(graph, 1)));
  SOAPSTONE_ASSIGN_OR_RETURN(auto queue, backend->make_queue());
  {
    const auto watch = queue->make_stopwatch();
    watch->start();
    EXPECT_GE(watch->stop_us(), 0);
  }
  SOAPSTONE_RETURN_IF_ERROR(queue->wait());
  return outputs;
}

TEST(GpuBackend, RunsGraphs) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    EXPECT_EQ((*backend)->device().name.rfind("Fake (sm_", 0), 0u);
    for (const Fusion fusion : {Fusion::kNone, Fusion::kFull})
      runtime::test::expect_right(runtime::test::parse(kGraph), **backend, fusion);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

/// A view may begin where no load of several elements can.
TEST(GpuBackend, ReadsViewsWhereverTheyBegin) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
  ASSERT_TRUE(backend.ok()) << backend.error().to_string();
  runtime::test::expect_right(
      runtime::test::parse("\n  x: f32[9]\n  a, b = split(x; axis=0, sizes=[1, 8])\n"
                           "  c = relu(b)\n  d = neg(x)\n  return c, d\n"),
      **backend, Fusion::kFull);
}

TEST(GpuBackend, TimesByTheDevice) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
  ASSERT_TRUE(backend.ok()) << backend.error().to_string();
  const auto queue = (*backend)->make_queue();
  ASSERT_TRUE(queue.ok());
  const auto watch = (*queue)->make_stopwatch();
  watch->start();
  const core::Graph graph = runtime::test::parse("\n  x: f32[8]\n  y = relu(x)\n  return y\n");
  const auto plan = runtime::plan_execution(graph, **backend, Fusion::kNone);
  const auto kernel = (*backend)->compile(
      graph, plan.launches[0], plan.layouts[0], [](core::TensorId) { return core::LiteralPtr(); },
      nullptr);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  auto in = runtime::DeviceBlock::allocate((*backend)->memory(), 32);
  auto out = runtime::DeviceBlock::allocate((*backend)->memory(), 32);
  ASSERT_TRUE(in.ok() && out.ok());
  const std::vector<runtime::KernelCall> calls(
      3, {kernel->get(), {in->address()}, {out->address()}, {}, {}});
  (*queue)->enqueue(calls);
  EXPECT_NEAR(watch->stop_us(), 21, 1e-3);
  EXPECT_TRUE((*queue)->wait().ok());
}

/// Kernels of branches come in any order; results are right.
TEST(GpuBackend, RunsBranchesSideBySide) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
  ASSERT_TRUE(backend.ok()) << backend.error().to_string();
  const core::Graph graph = runtime::test::parse(
      "\n  x: f32[4, 6]\n  w: f32[6, 8]\n  v: f32[6, 4]\n  u: f32[4, 3]\n  a = matmul(x, w)\n"
      "  b = matmul(x, v)\n  c = matmul(b, u)\n  d = softmax(a; axis=1)\n"
      "  e = softmax(c; axis=0)\n  return d, e, c\n");
  for (const Fusion fusion : {Fusion::kNone, Fusion::kFull})
    runtime::test::expect_right(graph, **backend, fusion);
  EXPECT_GE(fake.captured(), 5u);
  EXPECT_EQ(fake.graph_launches(), 2);
}

TEST(GpuBackend, KeepsImagesInEitherLayout) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  const core::Graph graph = runtime::test::parse(
      "\n  x: f32[2, 3, 6, 5]\n  w: f32[4, 3, 3, 3]\n  b: f32[4]\n  r: f32[2, 4, 6, 5]\n"
      "  t = conv(x, w, b; pads=[1, 1, 1, 1])\n  a = add(t, r)\n  c = relu(a)\n"
      "  p = max_pool(c; kernel=[2, 2], strides=[2, 2])\n  q = global_average_pool(p)\n"
      "  f = reshape(p; shape=[2, 24])\n  s = softmax(f; axis=1)\n  return q, s, c\n");
  std::size_t conversions[2] = {};
  for (const ImageLayout layout : {ImageLayout::kRowMajor, ImageLayout::kChannelsLast}) {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler(), {}, {.images = layout});
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    for (const Fusion fusion : {Fusion::kNone, Fusion::kFull}) {
      runtime::test::expect_right(graph, **backend, fusion);
      conversions[layout == ImageLayout::kChannelsLast] +=
          runtime::plan_execution(graph, **backend, fusion).conversions.size();
    }
  }
  EXPECT_EQ(conversions[0], 0u);
  EXPECT_GT(conversions[1], 0u);
}

TEST(GpuBackend, KnowsItsNames) {
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1", ""}) {
    const auto backend = make_gpu_backend(name);
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_EQ(backend.error().code, core::ErrorCode::kInvalidInput) << name;
  }
  const auto backend = make_gpu_backend("cuda:4096");
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().code, core::ErrorCode::kUnavailable);
}

TEST(GpuBackend, LosesNothingWhicheverCallFails) {
  FakeCompiler compiler;
  FakeDriver whole(compiler);
  ASSERT_TRUE(run_on(whole, compiler).ok());
  EXPECT_EQ(whole.alive(), 0u);
  int failed = 0;
  for (int k = 0; k < whole.calls(); ++k) {
    FakeDriver fake(compiler, k);
    const auto result = run_on(fake, compiler);
    EXPECT_EQ(fake.alive(), 0u) << "call " << k;
    if (result) continue;  // what is given back is given back, whatever the driver says
    ++failed;
    EXPECT_EQ(result.error().code, core::ErrorCode::kUnavailable) << "call " << k;
    EXPECT_NE(result.error().message.find("999"), std::string::npos) << result.error().message;
  }
  EXPECT_GT(failed, whole.calls() / 2);
}

}  // namespace
}  // namespace soapstone::gpu
