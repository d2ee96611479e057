// Rows longer than a block: kernels that compute parts of sums, and others that join them.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/gpu_backend.h"
#include "runtime/launches/execution_plan.h"
#include "tests/gpu/fake_driver.h"
#include "tests/runtime/runtime_test.h"
#include "tests/runtime/typed_graphs.h"

namespace soapstone::gpu {
namespace {

struct LongRows {
  const char* text;
  /// Two for each long sum or maximum, parts and all, and one for the rest if it has more elements.
  std::size_t kernels;
};

constexpr LongRows kLongRows[] = {
    {"x: f32[2, 16384]\n  t = mul(x, x)\n  y = reduce_mean(t; axes=[1])\n  z = sqrt(y)\n"
     "  return z\n",
     2},
    {"x: f32[16384, 3]\n  y = reduce_max(x; axes=[0])\n  return y\n", 2},
    {"x: f32[1, 20000]\n  y = softmax(x; axis=1)\n  return y\n", 5},
    {"x: f32[2, 16384]\n  s: f32[16384]\n  b: f32[16384]\n  y = layer_norm(x, s, b; axis=1)\n"
     "  return y\n",
     5},
};

const std::string kPasses = "generated in passes";

/// The graph's only launch, and the ways to run it.
std::vector<std::string> ways_of(runtime::Backend& backend, const core::Graph& graph) {
  const auto plan = runtime::plan_execution(graph, backend, runtime::Fusion::kFull);
  EXPECT_EQ(plan.launches.size(), 1u);
  return backend.candidates(graph, plan.launches.at(0), plan.layouts.at(0));
}

TEST(LongRows, AreComputedInPasses) {
  test::FakeCompiler compiler;
  test::FakeDriver fake(compiler);
  {
    auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
    ASSERT_TRUE(backend.ok()) << backend.error().to_string();
    for (const auto& [text, kernels] : kLongRows)
      for (const core::DataType type : {core::DataType::kFloat32, core::DataType::kFloat16}) {
        const core::Graph graph =
            runtime::test::parse(runtime::test::text_over(std::string("\n  ") + text, type));
        const auto ways = ways_of(**backend, graph);
        ASSERT_NE(std::find(ways.begin(), ways.end(), kPasses), ways.end()) << text;
        const auto plan = runtime::plan_execution(graph, **backend, runtime::Fusion::kFull);
        (*backend)->choose(runtime::launch_signature(graph, plan.launches[0], plan.layouts[0]),
                           kPasses);
        runtime::test::expect_right(graph, **backend, runtime::Fusion::kFull,
                                    runtime::test::tolerance_of(type));
        EXPECT_EQ(fake.captured(), kernels) << text;
      }
  }
  EXPECT_EQ(fake.alive(), 0u);
}

TEST(LongRows, AreFewAndLong) {
  test::FakeCompiler compiler;
  test::FakeDriver fake(compiler);
  auto backend = make_gpu_backend(fake.driver(), 0, compiler.compiler());
  ASSERT_TRUE(backend.ok()) << backend.error().to_string();
  for (const char* text : {"x: f32[2, 4096]\n  y = softmax(x; axis=1)\n  return y\n",
                           "x: f32[512, 16384]\n  y = reduce_sum(x; axes=[1])\n  return y\n",
                           // Its length is a prime number.
                           "x: f32[1, 16411]\n  y = reduce_sum(x; axes=[1])\n  return y\n"}) {
    const auto ways = ways_of(**backend, runtime::test::parse(std::string("\n  ") + text));
    EXPECT_EQ(std::find(ways.begin(), ways.end(), kPasses), ways.end()) << text;
  }
}

}  // namespace
}  // namespace soapstone::gpu
