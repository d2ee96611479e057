// Generated loops compute what the operators mean, and their compiler is only a help.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "cpu/cpu_backend.h"
#include "cpu/generated/chains.h"
#include "cpu/generated/loop_compiler.h"
#include "cpu/generated/loop_text.h"
#include "models/networks/builders.h"
#include "runtime/launches/fusion_rules.h"
#include "tests/models/small_sizes.h"
#include "tests/ops/op_examples.h"
#include "tests/runtime/random_graph.h"
#include "tests/runtime/typed_graphs.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::cpu {
namespace {

using runtime::generated::Region;

/// Graphs whose loops are compiled together, as a compiler takes longer to start than to compile
/// one.
class LoopLibrary {
 public:
  /// Nothing is added for what has no comprehension.
  void add(core::Graph graph, bool positive = false) {
    const auto region = runtime::generated::make_region(
        graph, std::vector(graph.order().begin(), graph.order().end()),
        std::vector(graph.outputs().begin(), graph.outputs().end()));
    if (!region) return;
    LoopText text = loop_text(*region, plan_loops(*region));
    text.source.replace(text.source.find('@'), 1, fmt::format("loops{}", all_.size()));
    source_ += text.source;
    calls_ += fmt::format("case {0}: return loops{0}(tensors, phase % {1}, begin, end);\n",
                          all_.size(), kPhases);
    ASSERT_LE(text.phases.size(), kPhases);
    all_.push_back({std::move(graph), std::move(text), positive});
  }

  void expect_right(LoopCompiler& compiler, double tolerance) const {
    const auto function = compiler.get(
        source_ +
        fmt::format("extern \"C\" void @(void* const* tensors, long phase, long begin, long end) "
                    "{{\nswitch (phase / {}) {{\n{}}}\n}}\n",
                    kPhases, calls_));
    ASSERT_TRUE(function.ok()) << function.error().message;
    for (std::size_t k = 0; k < all_.size(); ++k) expect_right(*function, k, tolerance);
    EXPECT_GT(all_.size(), 10U);
  }

 private:
  static constexpr std::size_t kPhases = 32;
  struct Member {
    core::Graph graph;
    LoopText text;
    bool positive;
  };

  void expect_right(const LoopFunction& function, std::size_t number, double tolerance) const {
    const auto& [graph, text, positive] = all_[number];
    const auto inputs = runtime::test::inputs_of(graph, positive);
    const auto wanted = runtime::test::expected(graph, inputs);
    std::map<core::TensorId, std::vector<std::byte>> memory;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      memory[graph.inputs()[k]].assign(inputs[k].bytes().begin(), inputs[k].bytes().end());
    std::vector<void*> pointers;
    for (const core::TensorId id : text.arguments) {
      const core::Tensor& tensor = graph.tensor(id);
      if (tensor.value)
        memory[id].assign(tensor.value->bytes().begin(), tensor.value->bytes().end());
      memory[id].resize(runtime::storage_bytes(tensor.type));
      pointers.push_back(memory[id].data());
    }
    for (std::size_t p = 0; p < text.phases.size(); ++p) {
      // In two ranges, as two threads have them.
      const auto phase = static_cast<long>(number * kPhases + p), count = text.phases[p].count,
                 middle = count / 2;
      function.run(pointers.data(), phase, middle, count);
      function.run(pointers.data(), phase, 0, middle);
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const core::TensorId id = graph.outputs()[k];
      if (!memory.contains(id)) continue;
      const core::TensorType& type = graph.tensor(id).type;
      const auto actual =
          core::Literal::copy(type.data_type, runtime::dims_of(type), memory[id]).to_doubles();
      runtime::test::expect_close(actual, wanted[k], tolerance, core::print(graph) + text.source);
    }
  }

  std::vector<Member> all_;
  std::string source_, calls_;
};

/// The compiler of this machine; null: the test is skipped.
class Loops : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!compiler_) GTEST_SKIP() << "there is no compiler";
  }
  TemporaryFolder folder_;
  std::unique_ptr<LoopCompiler> compiler_ = LoopCompiler::find(folder_ / "loops");
};

class LoopTypes : public Loops, public ::testing::WithParamInterface<core::DataType> {};

TEST_P(LoopTypes, ExamplesOfAllOperatorsAreComputed) {
  LoopLibrary library;
  for (const auto& example : ops::test::op_examples())
    library.add(graph_of(runtime::test::text_over(example.graph_text(), GetParam())),
                example.positive);
  library.expect_right(*compiler_, runtime::test::tolerance_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, LoopTypes,
                         ::testing::Values(core::DataType::kFloat32, core::DataType::kFloat16,
                                           core::DataType::kBFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

TEST_F(Loops, RandomGraphsAreComputed) {
  LoopLibrary library;
  for (unsigned seed = 0; seed < 100; ++seed)
    library.add(runtime::test::RandomGraph(seed).make(4 + seed % 8));
  library.expect_right(*compiler_, 1e-3);
}

constexpr const char* kChain = R"(graph chain
  x: f32[6, 4, 40]
  m: f32[6, 1, 40]
  s: f32[40]
  w: f32[40, 24]
  a = add(x, m)
  p = softmax(a; axis=2)
  n = layer_norm(p, s; axis=2)
  t = transpose(n; perm=[1, 0, 2])
  g = gelu(n)
  y = matmul(g, w)
  z = relu(y)
  return z, t
)";

/// All that is evenly in memory is one launch; the product keeps its function.
TEST_F(Loops, RunChainsOfANetwork) {
  const core::Graph graph = graph_of(kChain);
  const auto launches =
      cover_with_chains(graph, runtime::generic_fusion(runtime::Fusion::kGenerated));
  EXPECT_EQ(launches.size(), 3U);
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend({.threads = threads, .loops = folder_ / "loops"});
    ASSERT_TRUE(backend.ok());
    auto executable =
        runtime::Executable::make(graph, **backend, {.fusion = runtime::Fusion::kGenerated});
    ASSERT_TRUE(executable.ok()) << executable.error().to_string();
    EXPECT_EQ(executable->report().launches, 3U);
    const auto inputs = runtime::random_inputs(graph, 1);
    const auto wanted = runtime::test::expected(graph, inputs);
    const auto outputs = executable->run(inputs);
    ASSERT_TRUE(outputs.ok());
    for (std::size_t k = 0; k < wanted.size(); ++k)
      runtime::test::expect_close((*outputs)[k].to_doubles(), wanted[k], 1e-4, "chain");
  }
}

/// Networks as the executor runs them, images channels-last among them.
TEST_F(Loops, RunNetworks) {
  const auto backend = make_cpu_backend({.threads = 1, .loops = folder_ / "loops"});
  ASSERT_TRUE(backend.ok());
  for (const char* name : {"bert_base", "swin", "nasrnn", "efficientnet_b0"}) {
    const models::ModelBuilder* builder = nullptr;
    for (const models::ModelBuilder& b : models::builders())
      if (b.name == name) builder = &b;
    if (!builder) continue;
    auto built = models::build_model(name, models::small_sizes(*builder));
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    auto executable =
        runtime::Executable::make(*built, **backend, {.fusion = runtime::Fusion::kGenerated});
    ASSERT_TRUE(executable.ok()) << executable.error().to_string();
    const auto inputs = runtime::random_inputs(*built, 1);
    const auto wanted = runtime::test::expected(*built, inputs);
    const auto outputs = executable->run(inputs);
    ASSERT_TRUE(outputs.ok());
    for (std::size_t k = 0; k < wanted.size(); ++k)
      runtime::test::expect_close((*outputs)[k].to_doubles(), wanted[k], 2e-3, name);
  }
}

constexpr const char* kSource =
    "extern \"C\" void @(void* const* t, long, long begin, long end) {\n"
    "  for (long k = begin; k < end; ++k) ((float*)t[0])[k] = 3;\n}\n";

void expect_threes(const core::Result<LoopFunction>& function) {
  ASSERT_TRUE(function.ok()) << function.error().message;
  std::vector<float> values(5);
  void* const pointers[] = {values.data()};
  function->run(pointers, 0, 1, 5);
  EXPECT_EQ(values, (std::vector<float>{0, 3, 3, 3, 3}));
}

TEST_F(Loops, AreCompiledOnce) {
  const std::size_t before = compiler_->runs();
  expect_threes(compiler_->get(kSource));
  expect_threes(compiler_->get(kSource));
  EXPECT_EQ(compiler_->runs(), before + 1);
  const auto other = LoopCompiler::find(folder_ / "loops");
  ASSERT_TRUE(other);
  expect_threes(other->get(kSource));
  EXPECT_EQ(other->runs(), 0U);
}

TEST_F(Loops, FilesThatAreNotWhatWasWrittenAreMadeAnew) {
  expect_threes(compiler_->get(kSource));
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "loops")) {
    std::fstream changed(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    changed.seekp(200).put('!');
  }
  const auto other = LoopCompiler::find(folder_ / "loops");
  ASSERT_TRUE(other);
  expect_threes(other->get(kSource));
  EXPECT_EQ(other->runs(), 2U);
}

TEST_F(Loops, AreNotReadWhereOthersMayWrite) {
  expect_threes(compiler_->get(kSource));
  std::filesystem::permissions(folder_ / "loops", std::filesystem::perms::all);
  const auto other = LoopCompiler::find(folder_ / "loops");
  ASSERT_TRUE(other);
  expect_threes(other->get(kSource));
  EXPECT_EQ(other->runs(), 2U);
}

TEST_F(Loops, SeveralThreadsMayAskAtOnce) {
  const auto other = LoopCompiler::find(folder_ / "loops");
  ASSERT_TRUE(other);
  std::vector<std::jthread> threads;
  for (LoopCompiler* compiler : {compiler_.get(), other.get(), compiler_.get(), other.get()})
    threads.emplace_back([compiler] { expect_threes(compiler->get(kSource)); });
}

TEST_F(Loops, WhatDoesNotCompileIsAnError) {
  const auto function = compiler_->get("void @() { nonsense; }");
  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(function.error().message.find("nonsense"), std::string::npos);
}

/// Without a compiler that works, launches are those of full fusion.
TEST(LoopsWithoutCompiler, AreNotUsed) {
  const TemporaryFolder folder;
  for (const char* program : {"c++", "g++", "clang++"}) {
    std::ofstream(folder / program) << "#!/bin/sh\nexit 1\n";
    std::filesystem::permissions(folder / program, std::filesystem::perms::owner_all);
  }
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  const auto compiler = LoopCompiler::find(folder / "loops");
  const auto backend = make_cpu_backend({.threads = 1, .loops = folder / "loops"});
  const core::Graph graph = graph_of(kChain);
  EXPECT_FALSE(compiler);
  EXPECT_FALSE((*backend)->cover(graph, runtime::Fusion::kGenerated));
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace soapstone::cpu
