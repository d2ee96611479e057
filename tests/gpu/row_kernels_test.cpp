// All ways to compute rows that measurement chooses from: rows of a block, elements of a row in a
// thread, the row in registers or read in passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gpu/compile/nvrtc.h"
#include "gpu/making/makers.h"
#include "runtime/generated/extent.h"
#include "tests/gpu/kernel_checks.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::RowValues;

struct RowGraph {
  const char* name;
  const char* text;
};

constexpr RowGraph kRows[] = {
    {"softmax", "x: f32[5, 320]\n  y = softmax(x; axis=1)\n  return y"},
    {"softmax_of_odd_rows", "x: f32[6, 37]\n  y = softmax(x; axis=1)\n  return y"},
    {"softmax_of_short_rows", "x: f32[37, 18]\n  y = softmax(x; axis=1)\n  return y"},
    {"softmax_along_columns", "x: f32[2, 40, 6]\n  y = softmax(x; axis=1)\n  return y"},
    {"masked_softmax",
     "x: f32[2, 3, 4, 64]\n  m: f32[2, 1, 1, 64]\n  s: f32[]\n  a = mul(x, s)\n  b = add(a, m)\n"
     "  y = softmax(b; axis=3)\n  return y"},
    {"norm_of_a_sum",
     "x: f32[3, 768]\n  r: f32[3, 768]\n  b: f32[768]\n  s: f32[768]\n  t = add(x, b)\n"
     "  u = add(t, r)\n  y = layer_norm(u, s; axis=1)\n  return y, u"},
    {"norm_of_gelu",
     "x: f32[5, 96]\n  s: f32[96]\n  t = gelu(x)\n  y = layer_norm(t, s; axis=1)\n  return y"},
    {"root_mean_square",
     "x: f32[7, 3, 44]\n  s: f32[44]\n  y = rms_norm(x, s; axis=2)\n  return y"},
    {"mean_of_squares",
     "x: f32[6, 130]\n  t = mul(x, x)\n  y = reduce_mean(t; axes=[1])\n  return y"},
    {"long_rows", "x: f32[2, 4104]\n  y = log_softmax(x; axis=1)\n  return y"},
    {"long_norm", "x: f32[2, 2304]\n  s: f32[2304]\n  y = layer_norm(x, s; axis=1)\n  return y"},
};

/// Of which threads hold as much as they may; compiled alone.
constexpr RowGraph kLargeRows[] = {
    {"softmax", "x: f32[4096, 2048]\n  y = softmax(x; axis=1)\n  return y"},
    {"long_softmax", "x: f32[256, 65536]\n  y = softmax(x; axis=1)\n  return y"},
    {"norm_of_a_sum", "x: f32[512, 16384]\n  r: f32[512, 16384]\n  s: f32[16384]\n  t = add(x, r)\n"
                      "  y = layer_norm(t, s; axis=1)\n  return y, t"},
    {"norm_of_gelu",
     "x: f32[512, 4096]\n  s: f32[4096]\n  t = gelu(x)\n  y = layer_norm(t, s; axis=1)\n"
     "  return y"},
};

Region region_of_rows(const core::Graph& graph) {
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  return *runtime::generated::region_of(graph, nodes);
}

core::Graph graph_of_rows(const RowGraph& rows, core::DataType type) {
  return test::graph_over(std::string("graph ") + rows.name + "\n  " + rows.text + "\n", type);
}

class RowKernels : public ::testing::TestWithParam<core::DataType> {};

TEST_P(RowKernels, ComputeTheSameInAllWays) {
  test::HostKernels library;
  std::vector<test::KernelGraph> all;
  for (const RowGraph& rows : kRows) {
    const core::Graph graph = graph_of_rows(rows, GetParam());
    for (const KernelOptions& options : generated_options(region_of_rows(graph))) {
      all.emplace_back(graph_of_rows(rows, GetParam()), library, options);
      EXPECT_EQ(all.back().groups().size(), 1u) << rows.name;
    }
  }
  ASSERT_EQ(library.compile(), "");
  for (const auto& graph : all) expect_right(graph, library, test::tolerance_of(GetParam()));
}

TEST_P(RowKernels, DoNotSpillInAnyWay) {
  test::HostKernels kernels;
  std::vector<RowGraph> all(std::begin(kRows), std::end(kRows));
  all.insert(all.end(), std::begin(kLargeRows), std::end(kLargeRows));
  for (const RowGraph& rows : all) {
    const Region region = region_of_rows(graph_of_rows(rows, GetParam()));
    for (const KernelOptions& options : generated_options(region)) {
      KernelPlan plan = plan_for_gpu(region, options);
      kernels.add(region, plan);
      plan.width = 1;  // for addresses that no wide load admits
      kernels.add(region, plan);
    }
  }
  for (const CompileTarget target : {CompileTarget{8, 0}, CompileTarget{9, 0}}) {
    const auto binary = compile_kernels(kernels.texts(), target);
    ASSERT_TRUE(binary.ok()) << binary.error().to_string();
    ASSERT_EQ(binary->resources.size(), kernels.texts().size());
    for (const KernelResources& r : binary->resources)
      EXPECT_EQ(r.spilled_bytes, 0)
          << std::ranges::find(kernels.texts(), r.name, &KernelText::name)->source;
  }
  RecordProperty("kernels", static_cast<int>(kernels.texts().size()));
}

INSTANTIATE_TEST_SUITE_P(Types, RowKernels,
                         ::testing::Values(core::DataType::kFloat32, core::DataType::kFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

/// Every sum that a norm needs is over what was loaded once.
TEST(RowsInRegisters, AreLoadedOnce) {
  const Region region = region_of_rows(graph_of_rows(kRows[5], core::DataType::kFloat32));
  const auto loads = [&](RowValues values) {
    const KernelText text = kernel_text(region, plan_for_gpu(region, {.values = values}), "kernel");
    int count = 0;
    for (std::size_t at = 0; (at = text.source.find("load<4>(a", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  // Two addends and the bias of the sum, and the scale of the norm.
  EXPECT_EQ(loads(RowValues::kHeld), 4);
  EXPECT_EQ(loads(RowValues::kReadAgain), 3 + 3 + 4 + 3);
}

/// What a thread would need too many registers for is read again.
TEST(RowsInRegisters, AreNotTooLong) {
  const auto held = [](const char* text) {
    const Region region = region_of_rows(graph_of_rows({"rows", text}, core::DataType::kFloat32));
    return !plan_for_gpu(region, {.values = RowValues::kHeld}).held.empty();
  };
  EXPECT_TRUE(held("x: f32[512, 4096]\n  y = softmax(x; axis=1)\n  return y"));
  EXPECT_FALSE(held("x: f32[512, 65536]\n  y = softmax(x; axis=1)\n  return y"));
}

TEST(RowCandidates, DifferInRowsOfABlockElementsOfAThreadAndRegisters) {
  const Region region = region_of_rows(
      graph_of_rows({"rows", "x: f32[4096, 1024]\n  y = softmax(x; axis=1)\n  return y"},
                    core::DataType::kFloat32));
  std::set<int> rows_of_block;
  std::set<std::int64_t> elements_of_thread;
  int held = 0, read_again = 0;
  const auto candidates = generated_options(region);
  std::set<std::string> names;
  for (const KernelOptions& options : candidates) {
    const KernelPlan plan = plan_for_gpu(region, options);
    names.insert(name_of(options));
    rows_of_block.insert(plan.threads / plan.lanes);
    elements_of_thread.insert(plan.row_length / plan.lanes);
    ++(plan.held.empty() ? read_again : held);
  }
  EXPECT_EQ(names.size(), candidates.size());
  EXPECT_LE(candidates.size(), 16u) << "each is compiled and measured";
  EXPECT_GE(rows_of_block.size(), 3u);
  EXPECT_GE(elements_of_thread.size(), 4u);
  EXPECT_GE(held, 3);
  EXPECT_GE(read_again, 3);
}

}  // namespace
}  // namespace soapstone::gpu
