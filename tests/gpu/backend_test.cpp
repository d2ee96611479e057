// The executor on a backend whose device is a fake: memory, queue, stopwatch and kernels work
// together, and nothing is lost whichever call of the driver fails.
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/models/measured_cost.h"
#include "cost/timing/kernel_choice.h"
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

/// A cuBLASLt whose products run when the driver's kernels do.
FakeCublasLt cublaslt_of(FakeDriver& driver) {
  return FakeCublasLt(-1, [&driver](void* stream, std::function<void()> work) {
    driver.put(stream, std::move(work));
  });
}

/// Makes a backend and an executable, runs it, and times nothing.
core::Result<std::vector<core::Literal>> run_on(FakeDriver& fake, FakeCompiler& compiler) {
  FakeCublasLt cublaslt = cublaslt_of(fake);
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

/// A layer of a transformer: heads are read and written in place by the products around them.
constexpr const char* kLayer = R"(graph layer
  x: f32[1, 5, 12]
  w: f32[12, 36]
  b: f32[36]
  m: f32[1, 1, 1, 5]
  wo: f32[12, 12]
  bo: f32[12]
  s1: f32[12]
  b1: f32[12]
  w1: f32[12, 20]
  f1: f32[20]
  all = matmul(x, w)
  biased = add(all, b)
  q, k, v = split(biased; axis=2, sizes=[12, 12, 12])
  q4 = reshape(q; shape=[1, 5, 3, 4])
  qh = transpose(q4; perm=[0, 2, 1, 3])
  k4 = reshape(k; shape=[1, 5, 3, 4])
  kh = transpose(k4; perm=[0, 2, 3, 1])
  v4 = reshape(v; shape=[1, 5, 3, 4])
  vh = transpose(v4; perm=[0, 2, 1, 3])
  scores = matmul(qh, kh)
  masked = add(scores, m)
  p = softmax(masked; axis=3)
  context = matmul(p, vh)
  back = transpose(context; perm=[0, 2, 1, 3])
  flat = reshape(back; shape=[1, 5, 12])
  o = matmul(flat, wo)
  ob = add(o, bo)
  r1 = add(ob, x)
  n1 = layer_norm(r1, s1, b1; axis=2)
  h = matmul(n1, w1)
  hb = add(h, f1)
  g = gelu(hb)
  return g
)";

TEST(GpuBackend, RunsProductsByALibrary) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = cublaslt_of(fake);
  {
    auto backend =
        make_gpu_backend(fake.driver(), 0, compiler.compiler(), {nullptr, cublaslt.library()});
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    const core::Graph graph = soapstone::graph_of(kLayer);
    runtime::test::expect_right(graph, **backend, Fusion::kFull);
    // Five products, the softmax, the norm, and a GELU by erf behind the last product.
    EXPECT_EQ(runtime::plan_execution(graph, **backend, Fusion::kFull).launches.size(), 7u);
    EXPECT_EQ(cublaslt.products(), 5);
    EXPECT_EQ(fake.captured(), 8u);
    EXPECT_EQ(fake.graph_launches(), 1);
    runtime::test::expect_right(graph, **backend, Fusion::kNone);
  }
  EXPECT_EQ(fake.alive(), 0u);
  EXPECT_EQ(cublaslt.alive(), 0u);
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

/// The fastest candidate is found, kept in the database, and used by the next backend.
TEST(GpuBackend, ChoosesKernelsByMeasurement) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  FakeCublasLt cublaslt = cublaslt_of(fake);
  const Libraries libraries{nullptr, cublaslt.library()};
  const auto path = std::filesystem::temp_directory_path() / "soapstone_gpu_choices_test.db";
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
  std::filesystem::remove(path);
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
