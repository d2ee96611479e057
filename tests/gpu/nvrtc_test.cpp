// Kernels for real devices, none of which has to be there: compiled, without spills, once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/text/text.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/kernels/cover.h"
#include "models/networks/builders.h"
#include "runtime/generated/extent.h"
#include "tests/gpu/kernel_checks.h"
#include "tests/models/small_sizes.h"
#include "tests/runtime/random_graph.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Group;
using runtime::generated::region_of;

constexpr CompileTarget kTargets[] = {{8, 0}, {9, 0}};
/// A tile of 32 rows of 33 numbers, through which a kernel transposes.
constexpr std::int64_t kMostSharedBytes = 32 * 33 * 4;

/// The generated kernels of a network; those that differ.
std::vector<KernelText> kernels_of(const std::string& network, core::DataType type) {
  models::NetworkOptions options;
  options.type = type;
  const auto built = models::build_network(network, models::few_repeats(network), options);
  if (!built) {
    ADD_FAILURE() << built.error().to_string();
    return {};
  }
  test::HostKernels kernels;
  for (const Group& group : gpu_groups(built->graph)) {
    if (group.kind != Group::Kind::kKernel) continue;
    const auto region = region_of(built->graph, group.nodes);
    kernels.add(*region, plan_for_gpu(*region));
  }
  return kernels.texts();
}

void expect_no_spills(const std::vector<KernelText>& texts, const std::string& what) {
  for (const CompileTarget target : kTargets) {
    const auto binary = compile_kernels(texts, target);
    ASSERT_TRUE(binary.ok()) << what << ": " << binary.error().to_string();
    EXPECT_GT(binary->cubin.size(), 1000u);
    EXPECT_EQ(binary->resources.size(), texts.size());
    for (const KernelResources& r : binary->resources) {
      EXPECT_EQ(r.spilled_bytes, 0) << what << " " << r.name;
      EXPECT_LE(r.registers, 128) << what << " " << r.name;
      EXPECT_LE(r.shared_bytes, kMostSharedBytes) << what << " " << r.name;
    }
  }
}

class NetworkKernels : public ::testing::TestWithParam<std::string> {};

TEST_P(NetworkKernels, DoNotSpill) {
  for (const core::DataType type : {core::DataType::kFloat32, core::DataType::kFloat16})
    expect_no_spills(kernels_of(GetParam(), type), GetParam());
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const models::ModelBuilder& builder : models::builders()) names.push_back(builder.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, NetworkKernels, ::testing::ValuesIn(network_names()),
                         [](const auto& network) { return network.param; });

TEST(Nvrtc, KernelsOfBrainFloatsDoNotSpill) {
  for (const char* network : {"bert_base", "llama", "squeezenet"})
    expect_no_spills(kernels_of(network, core::DataType::kBFloat16), network);
}

/// The kernels of all operator examples and of 300 random graphs in two types. Sums that they
/// compute in each thread may spill.
TEST(Nvrtc, CompilesExamplesAndRandomGraphs) {
  for (const core::DataType type : {core::DataType::kFloat32, core::DataType::kFloat16}) {
    test::HostKernels kernels;
    for (const auto& example : ops::test::op_examples())
      test::KernelGraph(test::graph_over(example.graph_text(), type), kernels);
    for (unsigned seed = 0; seed < 300; ++seed) {
      const core::Graph graph = runtime::test::RandomGraph(seed).make(4 + seed % 12);
      test::KernelGraph(test::graph_over(core::print(graph), type), kernels);
    }
    for (const CompileTarget target : kTargets) {
      const auto binary = compile_kernels(kernels.texts(), target);
      ASSERT_TRUE(binary.ok()) << binary.error().to_string().substr(0, 4000);
      EXPECT_EQ(binary->resources.size(), kernels.texts().size());
    }
    RecordProperty("kernels", static_cast<int>(kernels.texts().size()));
  }
}

KernelText text_with(const std::string& body) {
  KernelText text;
  text.name = "kernel";
  text.source = "extern \"C\" __global__ void kernel(float* a) { " + body + " }\n";
  return text;
}

TEST(Nvrtc, SaysWhatAKernelTakes) {
  const auto binary =
      compile_kernels(std::vector{text_with("__shared__ float s[256];\n"
                                            "s[threadIdx.x] = a[threadIdx.x];\n__syncthreads();\n"
                                            "a[threadIdx.x] = s[255 - threadIdx.x];")},
                      {9, 0});
  ASSERT_TRUE(binary.ok()) << binary.error().to_string();
  ASSERT_EQ(binary->resources.size(), 1u);
  EXPECT_EQ(binary->resources[0].name, "kernel");
  EXPECT_GE(binary->resources[0].shared_bytes, 1024);
  EXPECT_GT(binary->resources[0].registers, 0);
  EXPECT_EQ(binary->resources[0].spilled_bytes, 0);
}

TEST(Nvrtc, SeesSpills) {
  std::string body = "float x[200];\n#pragma unroll\nfor (int i = 0; i < 200; ++i) x[i] = a[i];\n"
                     "__syncthreads();\n#pragma unroll\nfor (int i = 0; i < 200; ++i) "
                     "a[i] = x[199 - i] * x[(i * 7) % 200];";
  KernelText text = text_with(body);
  text.source.replace(text.source.find("void"), 4, "void __launch_bounds__(1024, 2)");
  const auto binary = compile_kernels(std::vector{text}, {9, 0});
  ASSERT_TRUE(binary.ok()) << binary.error().to_string();
  EXPECT_GT(binary->resources.at(0).spilled_bytes, 0);
}

TEST(Nvrtc, ReportsErrors) {
  const auto wrong = compile_kernels(std::vector{text_with("a[0] = nothing;")}, {9, 0});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, core::ErrorCode::kInternal);
  EXPECT_NE(wrong.error().message.find("nothing"), std::string::npos);
  const auto old = compile_kernels(std::vector{text_with("")}, {3, 0});
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, core::ErrorCode::kUnsupported);
}

TEST(KernelCache, CompilesOnceAndMendsBrokenFiles) {
  const auto folder =
      std::filesystem::temp_directory_path() /
      ("kernel_cache_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
       std::to_string(reinterpret_cast<std::uintptr_t>(&kTargets)));
  std::filesystem::remove_all(folder);
  const std::vector texts{text_with("a[0] = 1;")};
  KernelCache cache(folder);
  const auto first = cache.get(texts, {9, 0});
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_EQ(cache.hits(), 0);
  const auto second = cache.get(texts, {9, 0});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(first->cubin, second->cubin);
  EXPECT_EQ(second->resources.at(0).registers, first->resources.at(0).registers);
  ASSERT_TRUE(cache.get(texts, {8, 0}).ok());
  ASSERT_TRUE(cache.get(std::vector{text_with("a[0] = 2;")}, {9, 0}).ok());
  EXPECT_EQ(cache.hits(), 1);
  for (const auto& file : std::filesystem::directory_iterator(folder))
    std::filesystem::resize_file(file.path(), file.file_size() / 2);
  const auto third = cache.get(texts, {9, 0});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(first->cubin, third->cubin);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace soapstone::gpu
