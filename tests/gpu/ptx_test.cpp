// What the compiler makes of kernels, in words of the machine: loads and stores of 16 bytes, and
// sums that threads of a warp hand to each other.
#include <gtest/gtest.h>

#include <regex>

#include "gpu/compile/nvrtc_library.h"
#include "gpu/text/prelude.h"
#include "runtime/generated/extent.h"
#include "tests/gpu/kernel_checks.h"

namespace soapstone::gpu {
namespace {

/// The kernel as PTX for a card of computing capability 9.0; empty: it could not be compiled.
std::string ptx_of(const KernelText& text) {
  const auto library = nvrtc();
  if (!library) {
    ADD_FAILURE() << library.error().to_string();
    return {};
  }
  const Nvrtc& n = **library;
  Nvrtc::Program program = nullptr;
  const std::string source = std::string(prelude()) + text.source;
  const char* const options[] = {"--gpu-architecture=compute_90", "--std=c++17"};
  std::size_t size = 0;
  std::string ptx;
  if (n.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) == Nvrtc::kSuccess &&
      n.compile(program, 2, options) == Nvrtc::kSuccess &&
      n.ptx_size(program, &size) == Nvrtc::kSuccess) {
    ptx.resize(size);
    n.ptx(program, ptx.data());
  }
  n.destroy(&program);
  EXPECT_FALSE(ptx.empty()) << text.source;
  return ptx;
}

std::ptrdiff_t count(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), expression),
                       std::sregex_iterator());
}

constexpr const char* kWide = R"((v4\.[bfu]32|v2\.[bfu]64|v8\.[bfu]16))";

struct Words {
  std::ptrdiff_t wide_loads, loads, wide_stores, stores, shuffles, barriers;
};

Words words_of(const std::string& graph_text, core::DataType type) {
  const core::Graph graph = test::graph_over("graph g\n  " + graph_text + "\n", type);
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  const auto region = runtime::generated::region_of(graph, nodes);
  if (!region) {
    ADD_FAILURE() << region.error().to_string();
    return {};
  }
  const std::string ptx = ptx_of(kernel_text(*region, plan_for_gpu(*region), "kernel"));
  const std::string load = R"(ld\.global(\.nc)?\.)", store = R"(st\.global\.)";
  return {count(ptx, (load + kWide).c_str()),  count(ptx, load.c_str()),
          count(ptx, (store + kWide).c_str()), count(ptx, store.c_str()),
          count(ptx, R"(shfl\.sync)"),         count(ptx, R"(bar\.sync|barrier\.sync)")};
}

class MachineWords : public ::testing::TestWithParam<core::DataType> {};

TEST_P(MachineWords, OfMapsMoveSixteenBytes) {
  const Words words = words_of(
      "x: f32[64, 96]\n  r: f32[64, 96]\n  s = add(x, r)\n  y = relu(s)\n  return y", GetParam());
  EXPECT_EQ(words.wide_loads, 2);
  EXPECT_EQ(words.loads, 2);
  EXPECT_EQ(words.wide_stores, 1);
  EXPECT_EQ(words.stores, 1);
}

TEST_P(MachineWords, OfTilesMoveSixteenBytes) {
  const Words words =
      words_of("x: f32[128, 192]\n  y = transpose(x; perm=[1, 0])\n  return y", GetParam());
  EXPECT_GT(words.wide_loads, 0);
  EXPECT_EQ(words.loads, words.wide_loads);
  EXPECT_GT(words.wide_stores, 0);
  EXPECT_EQ(words.stores, words.wide_stores);
  EXPECT_EQ(words.barriers, 1);
}

/// Five steps of a warp for each of the softmax's maximum and sum; no barrier.
TEST_P(MachineWords, OfRowsReduceInWarps) {
  const Words words = words_of("x: f32[64, 512]\n  y = softmax(x; axis=1)\n  return y", GetParam());
  EXPECT_GT(words.wide_loads, 0);
  EXPECT_EQ(words.loads, words.wide_loads);
  EXPECT_EQ(words.stores, words.wide_stores);
  EXPECT_EQ(words.shuffles, 10);
  EXPECT_EQ(words.barriers, 0);
}

/// Rows of a block: warps join what they have through shared memory.
TEST_P(MachineWords, OfLongRowsReduceInBlocks) {
  const Words words = words_of("x: f32[4, 8192]\n  y = softmax(x; axis=1)\n  return y", GetParam());
  EXPECT_EQ(words.loads, words.wide_loads);
  EXPECT_EQ(words.shuffles, 10);
  EXPECT_EQ(words.barriers, 4);
}

INSTANTIATE_TEST_SUITE_P(All, MachineWords,
                         ::testing::Values(core::DataType::kFloat32, core::DataType::kFloat16,
                                           core::DataType::kBFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

}  // namespace
}  // namespace soapstone::gpu
