// The predicted memory of a model is what the CPU executor allocates, and the chosen order of nodes
// survives a file.
#include "runtime/memory/memory_use.h"

#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "models/networks/builders.h"
#include "models/onnx/format/onnx_model.h"
#include "runtime/execution/executor.h"
#include "runtime/memory/memory_schedule.h"
#include "search/equivalence/equivalence.h"

namespace soapstone::search {
namespace {

using runtime::Fusion;
using Parameters = std::map<std::string, std::int64_t>;

struct Model {
  const char* name;
  Parameters parameters;
};
void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

const Model kModels[] = {
    {"squeezenet", {{"image", 64}, {"classes", 10}}},
    {"inception_v3", {{"image", 75}, {"width_percent", 20}, {"classes", 10}}},
    {"resnet50", {{"image", 64}, {"width", 16}, {"classes", 10}, {"fold_bn", 1}}},
    {"resnext50",
     {{"image", 32}, {"width", 16}, {"groups", 4}, {"group_width", 4}, {"classes", 10}}},
    {"bert_base", {{"layers", 3}, {"hidden", 48}, {"heads", 4}, {"seq", 24}, {"vocabulary", 50}}},
    {"nasrnn", {{"hidden", 64}, {"steps", 4}}},
    {"swin", {{"image", 64}, {"window", 2}, {"width", 12}, {"depth3", 2}, {"classes", 10}}},
};

class MemoryUseTest : public ::testing::TestWithParam<Model> {
 protected:
  void expect_foretold(const core::Graph& graph, const runtime::MemoryUse& use) {
    auto program = runtime::Executable::make(graph, *backend_, {Fusion::kFull});
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    EXPECT_EQ(program->report().arena_bytes, use.peak_bytes);
    EXPECT_EQ(program->report().peak_activation_bytes, use.live_bytes);
    EXPECT_LE(use.live_bytes, use.peak_bytes);
    EXPECT_TRUE(use.complete);
  }

  std::unique_ptr<runtime::Backend> backend_ = *cpu::make_cpu_backend();
};

TEST_P(MemoryUseTest, IsWhatTheExecutorAllocates) {
  const core::Graph graph = *models::build_model(GetParam().name, GetParam().parameters);
  const auto use = runtime::memory_use(graph, *backend_, Fusion::kFull);
  expect_foretold(graph, use);
  const auto ordered = runtime::order_for_memory(graph, *backend_, Fusion::kFull);
  EXPECT_LE(ordered.use.peak_bytes, use.peak_bytes);
  expect_foretold(ordered.graph, ordered.use);
}

TEST_P(MemoryUseTest, OrdersAreKeptInFiles) {
  const core::Graph graph = *models::build_model(GetParam().name, GetParam().parameters);
  const auto ordered = runtime::order_for_memory(graph, *backend_, Fusion::kFull);
  ASSERT_TRUE(same_structure(ordered.graph, graph));
  // Earlier opsets have no Gelu: what it is made of there needs more.
  const auto bytes = models::serialize_onnx(ordered.graph, *models::new_header(20));
  ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
  const auto read = models::parse_onnx(*bytes);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const auto use = runtime::memory_use(read->graph, *backend_, Fusion::kFull);
  EXPECT_EQ(use.peak_bytes, ordered.use.peak_bytes);
  EquivalenceOptions options;
  options.samples = 1;
  const auto report =
      check_equivalence(graph, read->graph, *backend_, options, core::silent(), core::StopToken{});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->equal);
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryUseTest, ::testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(MemoryUse, SomeModelsNeedLessInAnotherOrder) {
  const auto backend = *cpu::make_cpu_backend();
  const core::Graph graph = *models::build_model("nasrnn", {{"hidden", 64}, {"steps", 4}});
  const auto before = runtime::memory_use(graph, *backend, Fusion::kFull);
  const auto after = runtime::order_for_memory(graph, *backend, Fusion::kFull);
  EXPECT_LT(after.use.peak_bytes, before.peak_bytes);
}

}  // namespace
}  // namespace soapstone::search
