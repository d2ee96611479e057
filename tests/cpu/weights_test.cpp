// Kernels that pack weights in ways of their own: products of one row, Winograd's convolutions, and
// the store of packed weights.
#include "cpu/base/packed_weights.h"
#include "tests/cpu/sketch.h"

namespace soapstone::cpu::test {
namespace {

using core::TensorId;
using runtime::Fusion;

/// Products of one row: whole panels and parts of them, with all kinds of steps behind them.
TEST(VectorMatrix, IsComputedWithItsSteps) {
  const auto threaded = make_cpu_backend({.threads = 2});
  for (const std::int64_t columns : {1, 63, 64, 200, 2048}) {
    for (const char* steps : {"", "b", "bs", "ct", "r", "bgr", "g"}) {
      Sketch sketch;
      const TensorId x = sketch.input("x", {1, 96});
      TensorId y = sketch.add("matmul", {x, sketch.constant({96, columns})});
      for (const char step : std::string(steps)) {
        if (step == 'b') y = sketch.add("add", {y, sketch.constant({columns})});
        if (step == 'c') y = sketch.add("mul", {sketch.constant({1, columns}), y});
        if (step == 's') y = sketch.add("sigmoid", {y});
        if (step == 't') y = sketch.add("tanh", {y});
        if (step == 'r') y = sketch.add("add", {y, sketch.input("r", {1, columns})});
        if (step == 'g') y = sketch.add("mul", {y, sketch.add("sigmoid", {y})});
      }
      const core::Graph graph = sketch.finish(y);
      runtime::test::expect_right(graph, backend(), Fusion::kFull);
      runtime::test::expect_right(graph, **threaded, Fusion::kFull);
      if (std::string(steps) != "g") {
        EXPECT_EQ(implementation(graph, backend()), "own panels") << steps;
      }
    }
  }
}

/// The sum lies where the residual did.
TEST(VectorMatrix, MayOverwriteAResidual) {
  Sketch sketch;
  const TensorId x = sketch.input("x", {1, 64}), r = sketch.add("tanh", {x});
  const TensorId y = sketch.add("matmul", {x, sketch.constant({64, 64})});
  runtime::test::expect_right(sketch.finish(sketch.add("exp", {sketch.add("add", {y, r})})),
                              backend(), Fusion::kFull);
}

TEST(Winograd, IsAWayToRunAConvolution) {
  const auto made = make_cpu_backend();
  runtime::Backend& own = **made;
  for (const char* steps : {"", "b", "bf", "br"}) {
    Sketch sketch;
    const TensorId x = sketch.input("x", {1, 64, 14, 14});
    core::Attributes same;
    same.set("pads", core::Shape{1, 1, 1, 1});
    TensorId y = sketch.add("conv", {x, sketch.constant({64, 64, 3, 3})}, same);
    for (const char step : std::string(steps)) {
      if (step == 'b') y = sketch.add("add", {y, sketch.constant({64, 1, 1})});
      if (step == 'f') y = sketch.add("relu", {y});
      if (step == 'r') y = sketch.add("add", {y, sketch.input("r", {1, 64, 14, 14})});
    }
    const core::Graph graph = sketch.finish(y);
    const runtime::ExecutionPlan plan = runtime::plan_execution(graph, own, Fusion::kFull);
    const auto names = own.candidates(graph, plan.launches[0], plan.layouts[0]);
    if (names.empty()) GTEST_SKIP() << "oneDNN has no such algorithm for this processor";
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(implementation(graph, own), names[0]);
    own.choose(runtime::launch_signature(graph, plan.launches[0], plan.layouts[0]), names[1]);
    EXPECT_EQ(implementation(graph, own), names[1]);
    runtime::test::expect_right(graph, own, Fusion::kFull);
  }
}

/// Nothing else has weights that Winograd's algorithm is for.
TEST(Winograd, IsNoWayToRunOtherLaunches) {
  Sketch sketch;
  const TensorId x = sketch.input("x", {2, 64});
  const core::Graph graph = sketch.finish(sketch.add("matmul", {x, sketch.constant({64, 64})}));
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, backend(), Fusion::kFull);
  EXPECT_TRUE(backend().candidates(graph, plan.launches[0], plan.layouts[0]).empty());
}

TEST(PackedWeights, AreSharedAsLongAsOneKernelHoldsThem) {
  PackedWeights store;
  int made = 0;
  const auto make = [&made] {
    ++made;
    return allocate_packed(4);
  };
  const auto form = [](std::int64_t columns) {
    return Descriptor({columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  };
  const core::LiteralPtr first = numbers({8}), second = numbers({8});
  auto packed = store.get(first, form(8), make);
  EXPECT_EQ(store.get(first, form(8), make), packed);
  EXPECT_EQ(made, 1);
  EXPECT_NE(store.get(second, form(8), make), packed);
  EXPECT_NE(store.get(first, form(4), make), packed);
  EXPECT_EQ(made, 3);
  packed.reset();
  packed = store.get(first, form(8), make);
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace soapstone::cpu::test
