// Maps that read along another axis than they store go through tiles in shared memory: chosen by
// what they move, right at every edge, within the memory that they declare.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "gpu/compile/nvrtc.h"
#include "gpu/kernels/cover.h"
#include "gpu/text/traffic.h"
#include "runtime/generated/extent.h"
#include "tests/gpu/kernel_checks.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Group;
using runtime::generated::GroupingOptions;
using runtime::generated::region_of;

struct TiledGraph {
  const char* name;
  const char* text;
};

constexpr TiledGraph kTiled[] = {
    {"square", "x: f32[64, 96]\n  y = transpose(x; perm=[1, 0])\n  return y"},
    {"odd", "x: f32[37, 53]\n  y = transpose(x; perm=[1, 0])\n  return y"},
    {"odd_layers", "x: f32[3, 33, 65]\n  y = transpose(x; perm=[0, 2, 1])\n  return y"},
    {"one_axis_aligned", "x: f32[2, 40, 35]\n  y = transpose(x; perm=[0, 2, 1])\n  return y"},
    {"reversed", "x: f32[9, 10, 48]\n  y = transpose(x; perm=[2, 1, 0])\n  return y"},
    {"channels_last", "x: f32[2, 24, 12, 20]\n  y = transpose(x; perm=[0, 2, 3, 1])\n  return y"},
    {"three_channels", "x: f32[2, 18, 20, 3]\n  y = transpose(x; perm=[0, 3, 1, 2])\n  return y"},
    {"work_before", "x: f32[48, 40]\n  b: f32[40]\n  t = add(x, b)\n  u = gelu(t)\n"
                    "  y = transpose(u; perm=[1, 0])\n  return y"},
    {"work_behind", "x: f32[2, 100, 68]\n  b: f32[68, 1]\n  r: f32[2, 68, 100]\n  t = transpose(x; "
                    "perm=[0, 2, 1])\n"
                    "  u = add(t, b)\n  v = mul(u, r)\n  y = relu(v)\n  return y"},
    {"two_operands",
     "x: f32[32, 72]\n  z: f32[32, 72]\n  t = mul(x, z)\n  y = transpose(t; perm=[1, 0])\n"
     "  return y"},
    {"both_orders",
     "x: f32[104, 72]\n  t = relu(x)\n  y = transpose(t; perm=[1, 0])\n  return t, y"},
    {"cut", "x: f32[40, 64]\n  t = slice(x; axes=[1], starts=[3], sizes=[44], steps=[1])\n"
            "  y = transpose(t; perm=[1, 0])\n  return y"},
    {"padded", "x: f32[38, 41]\n  t = pad(x; pads=[1, 2, 3, 0], value=1.5)\n"
               "  y = transpose(t; perm=[1, 0])\n  return y"},
    {"padded_behind", "x: f32[38, 41]\n  t = transpose(x; perm=[1, 0])\n"
                      "  y = pad(t; pads=[1, 2, 3, 0], value=1.5)\n  return y"},
    {"joined_behind", "x: f32[40, 36]\n  z: f32[20, 36]\n  s = transpose(x; perm=[1, 0])\n"
                      "  t = transpose(z; perm=[1, 0])\n  y = concat(s, t; axis=1)\n  return y"},
    {"joined", "x: f32[40, 36]\n  z: f32[20, 36]\n  t = concat(x, z; axis=0)\n"
               "  y = transpose(t; perm=[1, 0])\n  return y"},
};

/// A graph of one kernel, and its region.
struct OneKernel {
  explicit OneKernel(const std::string& text)
      : graph(soapstone::graph_of("graph g\n  " + text + "\n")),
        region(*region_of(graph,
                          std::vector<core::NodeId>(graph.order().begin(), graph.order().end()))) {}
  core::Graph graph;
  Region region;
};

struct TileForm {
  core::DataType type;
  KernelOptions options;
};

class TiledMaps : public ::testing::TestWithParam<TileForm> {};

TEST_P(TiledMaps, ComputeWhatTheirOperatorsMean) {
  test::HostKernels library;
  std::vector<test::KernelGraph> all;
  std::size_t shared = 0;
  GroupingOptions options;
  options.kernel = GetParam().options;
  for (const auto& [name, text] : kTiled) {
    const std::string whole = std::string("graph ") + name + "\n  " + text + "\n";
    all.emplace_back(test::graph_over(whole, GetParam().type), library, options);
    ASSERT_EQ(all.back().texts().size(), 1u) << whole;
    const KernelText& kernel = all.back().texts()[0];
    const bool is_tiled = kernel.source.find("const int tile = ") != std::string::npos;
    EXPECT_EQ(is_tiled, options.kernel.tile != 1) << whole << kernel.source;
    shared += kernel.shared_bytes > 0;
  }
  EXPECT_EQ(shared > std::size(kTiled) / 2, options.kernel.tile != 1);
  ASSERT_EQ(library.compile(), "");
  for (const auto& graph : all) expect_right(graph, library, test::tolerance_of(GetParam().type));
}

INSTANTIATE_TEST_SUITE_P(
    All, TiledMaps,
    ::testing::Values(TileForm{core::DataType::kFloat32, {}},
                      TileForm{core::DataType::kFloat16, {}},
                      TileForm{core::DataType::kBFloat16, {.tile = 64}},
                      TileForm{core::DataType::kFloat32, {.tile = 16}},
                      TileForm{core::DataType::kFloat32, {.threads = 64, .width = 1}},
                      TileForm{core::DataType::kFloat16, {.threads = 512, .width = 2, .tile = 64}},
                      TileForm{core::DataType::kFloat32, {.tile = 1}}),
    [](const auto& form) {
      const KernelOptions& o = form.param.options;
      return std::string(core::to_string(form.param.type)) + "_" + std::to_string(o.threads) + "_" +
             std::to_string(o.width) + "_" + std::to_string(o.tile);
    });

/// Nobody spills, and the assembler finds the shared memory that the text declares.
TEST(Tiles, AreCompiledForDevices) {
  for (const core::DataType type : {core::DataType::kFloat32, core::DataType::kFloat16}) {
    test::HostKernels kernels;
    for (const auto& [name, text] : kTiled)
      test::KernelGraph(test::graph_over(std::string("graph g\n  ") + text + "\n", type), kernels);
    for (const CompileTarget target : {CompileTarget{8, 0}, CompileTarget{9, 0}}) {
      const auto binary = compile_kernels(kernels.texts(), target);
      ASSERT_TRUE(binary.ok()) << binary.error().to_string().substr(0, 4000);
      for (const KernelResources& r : binary->resources) {
        const auto text = std::ranges::find(kernels.texts(), r.name, &KernelText::name);
        ASSERT_NE(text, kernels.texts().end());
        EXPECT_EQ(r.spilled_bytes, 0) << text->source;
        EXPECT_GE(r.shared_bytes, text->shared_bytes) << text->source;
        EXPECT_LE(r.shared_bytes, text->shared_bytes + 64) << text->source;
        EXPECT_LE(r.shared_bytes, 48 << 10) << text->source;
      }
    }
  }
}

TEST(Tiles, LoadAndStoreSixteenBytesAtOnce) {
  const OneKernel transpose("x: f32[64, 96]\n  y = transpose(x; perm=[1, 0])\n  return y");
  const KernelText text = kernel_text(transpose.region, plan_for_gpu(transpose.region), "k");
  EXPECT_NE(text.source.find("load<4>("), std::string::npos) << text.source;
  EXPECT_NE(text.source.find("Pack<float, 4>"), std::string::npos) << text.source;
}

/// Where threads read along the axis along which they store, or find whole sectors anyway, nothing
/// is to be gained.
TEST(Tiles, AreForWhatMovesLessInThem) {
  for (const char* text :
       {"x: f32[64, 96]\n  y = relu(x)\n  return y",
        "x: f32[4, 12, 8, 64]\n  y = transpose(x; perm=[0, 2, 1, 3])\n  return y",
        "x: f32[64, 96]\n  b: f32[64, 1]\n  y = add(x, b)\n  return y",
        "x: f32[6, 4]\n  y = transpose(x; perm=[1, 0])\n  return y"}) {
    const OneKernel kernel(text);
    for (const Segment& segment : plan_for_gpu(kernel.region).segments)
      EXPECT_FALSE(segment.tile) << text;
  }
}

/// Within a condition indices lie in narrower bounds: no quotient of a position is left to compute.
TEST(Tiles, TakePositionsApartByWhatConditionsSay) {
  const OneKernel joined("x: f32[40, 36]\n  z: f32[20, 36]\n  s = transpose(x; perm=[1, 0])\n"
                         "  t = transpose(z; perm=[1, 0])\n  y = concat(s, t; axis=1)\n  return y");
  const std::string source =
      kernel_text(joined.region, plan_for_gpu(joined.region, {.tile = 1}), "k").source;
  EXPECT_EQ(source.find("/ 40"), std::string::npos) << source;
  EXPECT_EQ(source.find("/ 20"), std::string::npos) << source;
  EXPECT_EQ(source.find("% 40"), std::string::npos) << source;
  EXPECT_NE(source.find("/ 60"), std::string::npos) << source;
}

TEST(Tiles, HoldWhatTheirAxesHave) {
  const OneKernel few("x: f32[2, 8, 12, 20]\n  y = transpose(x; perm=[0, 2, 3, 1])\n  return y");
  const KernelPlan plan = plan_for_gpu(few.region, {.width = 1});
  ASSERT_EQ(plan.segments.size(), 1u);
  ASSERT_TRUE(plan.segments[0].tile);
  const Tile& tile = *plan.segments[0].tile;
  EXPECT_EQ(tile.columns, 8);
  EXPECT_EQ(tile.rows, 240);
  EXPECT_EQ(tile.layers, 2);
  EXPECT_EQ(tile.width, 8);
  EXPECT_EQ(tile.height, 128);
}

std::ptrdiff_t kernels_of(const std::string& text) {
  const auto groups = gpu_groups(soapstone::graph_of("graph g\n" + text));
  return std::ranges::count(groups, Group::Kind::kKernel, &Group::kind);
}

/// Rows that would be stored across are stored along, and moved in tiles, where that moves less
/// than a launch takes; a small result is stored in pieces.
TEST(Tiles, MoveLargeRowsByThemselves) {
  const auto softmax = [](const char* dims, const char* behind) {
    return fmt::format("  x: f32[{}]\n  y = softmax(x; axis=1)\n{}", dims, behind);
  };
  const char* const across = "  z = transpose(y; perm=[1, 0])\n  return z\n";
  EXPECT_EQ(kernels_of(softmax("4096, 1024", across)), 2);
  EXPECT_EQ(kernels_of(softmax("128, 1024", across)), 1);
  EXPECT_EQ(kernels_of(softmax("4096, 1024", "  z = relu(y)\n  return z\n")), 1);
  // Whole rows change places: each is a piece that is long enough.
  EXPECT_EQ(kernels_of("  x: f32[64, 64, 768]\n  s: f32[768]\n  t = rms_norm(x, s; axis=2)\n"
                       "  y = transpose(t; perm=[1, 0, 2])\n  return y\n"),
            1);
}

/// Sectors of 32 bytes of which 4 are needed: one of the two tensors moves eightfold. In tiles
/// whose sides are whole sectors nothing moves in vain.
TEST(Traffic, CountsSectors) {
  const OneKernel transpose("x: f32[256, 512]\n  y = transpose(x; perm=[1, 0])\n  return y");
  const double bytes = 256 * 512 * 4;
  EXPECT_EQ(excess_bytes(transpose.region, plan_for_gpu(transpose.region, {.tile = 1})), 7 * bytes);
  EXPECT_EQ(excess_bytes(transpose.region, plan_for_gpu(transpose.region)), 0);
  const OneKernel sum("x: f32[256, 512]\n  b: f32[512]\n  y = add(x, b)\n  return y");
  EXPECT_EQ(excess_bytes(sum.region, plan_for_gpu(sum.region)), 0);
  const OneKernel steps(
      "x: f32[1024]\n  y = slice(x; axes=[0], starts=[0], sizes=[512], steps=[2])\n  return y");
  EXPECT_EQ(excess_bytes(steps.region, plan_for_gpu(steps.region)), 1024 * 4);
  const OneKernel norm("x: f32[64, 512]\n  y = softmax(x; axis=1)\n  return y");
  EXPECT_EQ(excess_bytes(norm.region, plan_for_gpu(norm.region)), 0);
}

/// In halves a sector holds twice as many elements that are not needed.
TEST(Traffic, DependsOnTheSizeOfElements) {
  const OneKernel transpose("x: f16[256, 512]\n  y = transpose(x; perm=[1, 0])\n  return y");
  const double bytes = 256 * 512 * 2;
  EXPECT_EQ(excess_bytes(transpose.region, plan_for_gpu(transpose.region, {.tile = 1})),
            15 * bytes);
  EXPECT_EQ(excess_bytes(transpose.region, plan_for_gpu(transpose.region)), 0);
}

/// A norm whose result is stored along the other axis moves it in pieces.
TEST(Traffic, SeesRowsThatAreStoredAcross) {
  const OneKernel across(
      "x: f32[128, 512]\n  s = softmax(x; axis=1)\n  y = transpose(s; perm=[1, 0])\n  return y");
  EXPECT_EQ(excess_bytes(across.region, plan_for_gpu(across.region)), 7.0 * 128 * 512 * 4);
}

}  // namespace
}  // namespace soapstone::gpu
