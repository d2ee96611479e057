// Attention is recognized by what it computes, told to cuDNN as one graph, and launched as one.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include <fmt/format.h>

#include "gpu/driver/stub_driver.h"
#include "gpu/forms/attention.h"
#include "gpu/kernels/cover.h"
#include "gpu/libraries/cudnn_graph.h"
#include "gpu/making/attention_fit.h"
#include "gpu/targets/target.h"
#include "models/networks/builders.h"
#include "runtime/generated/extent.h"
#include "runtime/launches/execution_plan.h"
#include "tests/gpu/library_math.h"
#include "tests/models/small_sizes.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::is_kernel_view;
using runtime::generated::make_region;

constexpr const char* kHeads =
    "  q4 = reshape(q; shape=[2, 5, 3, 4])\n  qh = transpose(q4; perm=[0, 2, 1, 3])\n"
    "  k4 = reshape(k; shape=[2, 5, 3, 4])\n  kh = transpose(k4; perm=[0, 2, 3, 1])\n"
    "  v4 = reshape(v; shape=[2, 5, 3, 4])\n  vh = transpose(v4; perm=[0, 2, 1, 3])\n"
    "  s = matmul(qh, kh)\n";
constexpr const char* kContext = "  c = matmul(p, vh)\n  b = transpose(c; perm=[0, 2, 1, 3])\n"
                                 "  y = reshape(b; shape=[2, 5, 12])\n  return y\n";

std::string with_heads(const std::string& inputs, const std::string& between,
                       const std::string& behind = kContext) {
  return "graph attention\n" + inputs + kHeads + between + behind;
}

constexpr const char* kThree = "  q: f32[2, 5, 12]\n  k: f32[2, 5, 12]\n  v: f32[2, 5, 12]\n";
constexpr const char* kMerged =
    "  all: f32[2, 5, 36]\n  q, k, v = split(all; axis=2, sizes=[12, 12, 12])\n";
constexpr const char* kSoftmax = "  p = softmax(s; axis=3)\n";

struct AttentionText {
  const char* name;
  std::string text;
  core::Dims queries, keys;  ///< The dimensions that are described; none: it is no attention.
  std::size_t added = 0;
  double scale = 1;
  std::int64_t runs = 1;
};

std::vector<AttentionText> attention_texts() {
  const core::Dims q{2, 3, 5, 4}, k{2, 3, 4, 5};
  return {
      {"plain", with_heads(kThree, kSoftmax), q, k},
      {"of one product", with_heads(kMerged, kSoftmax), q, k},
      {"scaled and masked",
       with_heads(std::string(kMerged) + "  m: f32[2, 1, 1, 5]\n",
                  "  f = full(; shape=[], value=0.5)\n  t = mul(s, f)\n  u = add(t, m)\n"
                  "  p = softmax(u; axis=3)\n"),
       q, k, 1, 0.5},
      {"with two addends",
       with_heads(std::string(kThree) + "  m: f32[3, 5, 5]\n  n: f32[2, 1, 5, 5]\n",
                  "  t = add(s, m)\n  u = add(n, t)\n  p = softmax(u; axis=3)\n"),
       q, k, 2},
      // A mask for each half of the batch, as shifted windows have it.
      {"by image",
       with_heads(std::string(kThree) + "  m: f32[1, 2, 1, 5, 5]\n",
                  "  t = reshape(s; shape=[1, 2, 3, 5, 5])\n  u = add(t, m)\n"
                  "  w = reshape(u; shape=[2, 3, 5, 5])\n  p = softmax(w; axis=3)\n"),
       q, k, 1},
      // One mask for each window, the same for both images: windows of images are runs.
      {"by window",
       "graph g\n  all: f32[4, 5, 36]\n  m: f32[2, 1, 5, 5]\n  n: f32[3, 5, 5]\n"
       "  q, k, v = split(all; axis=2, sizes=[12, 12, 12])\n"
       "  q4 = reshape(q; shape=[4, 5, 3, 4])\n  qh = transpose(q4; perm=[0, 2, 1, 3])\n"
       "  k4 = reshape(k; shape=[4, 5, 3, 4])\n  kh = transpose(k4; perm=[0, 2, 3, 1])\n"
       "  v4 = reshape(v; shape=[4, 5, 3, 4])\n  vh = transpose(v4; perm=[0, 2, 1, 3])\n"
       "  s = matmul(qh, kh)\n  b = add(s, n)\n  t = reshape(b; shape=[2, 2, 3, 5, 5])\n"
       "  u = add(t, m)\n  w = reshape(u; shape=[4, 3, 5, 5])\n  p = softmax(w; axis=3)\n"
       "  c = matmul(p, vh)\n  r = transpose(c; perm=[0, 2, 1, 3])\n"
       "  y = reshape(r; shape=[4, 5, 12])\n  return y\n",
       {2, 3, 5, 4},
       {2, 3, 4, 5},
       2,
       1,
       2},
      {"of one head",
       "graph g\n  q: f32[2, 5, 4]\n  k: f32[2, 6, 4]\n  kt = transpose(k; perm=[0, 2, 1])\n"
       "  s = matmul(q, kt)\n  p = softmax(s; axis=2)\n  y = matmul(p, k)\n  return y\n",
       {1, 2, 5, 4},
       {1, 2, 4, 6}},
      // Two heads of queries share a head of keys.
      {"in groups",
       "graph g\n  q: f32[2, 5, 3, 2, 4]\n  k: f32[2, 5, 3, 1, 4]\n  v: f32[2, 5, 3, 1, 4]\n"
       "  qh = transpose(q; perm=[0, 2, 3, 1, 4])\n  kh = transpose(k; perm=[0, 2, 3, 4, 1])\n"
       "  vh = transpose(v; perm=[0, 2, 3, 1, 4])\n  s = matmul(qh, kh)\n"
       "  p = softmax(s; axis=4)\n  c = matmul(p, vh)\n"
       "  b = transpose(c; perm=[0, 3, 1, 2, 4])\n  return b\n",
       {2, 6, 5, 4},
       {2, 3, 4, 5}},
      {"along the queries", with_heads(kThree, "  p = softmax(s; axis=2)\n"), {}, {}},
      {"a logarithm", with_heads(kThree, "  p = log_softmax(s; axis=3)\n"), {}, {}},
      {"a function of scores",
       with_heads(kThree, "  t = tanh(s)\n  p = softmax(t; axis=3)\n"),
       {},
       {}},
      {"something behind it",
       with_heads(kThree, kSoftmax, "  c = matmul(p, vh)\n  y = relu(c)\n  return y\n"),
       {},
       {}},
      {"shares that are scaled",
       with_heads(kThree, "  t = softmax(s; axis=3)\n  f = full(; shape=[], value=0.5)\n"
                          "  p = mul(t, f)\n"),
       {},
       {}},
      {"keys whose elements do not lie side by side",
       "graph g\n  q: f32[2, 5, 4]\n  k: f32[2, 4, 6]\n  v: f32[2, 6, 4]\n  s = matmul(q, k)\n"
       "  p = softmax(s; axis=2)\n  y = matmul(p, v)\n  return y\n",
       {},
       {}},
      {"keys that batches share",
       "graph g\n  q: f32[2, 3, 5, 4]\n  k: f32[1, 3, 6, 4]\n  kt = transpose(k; perm=[0, 1, 3, "
       "2])\n"
       "  s = matmul(q, kt)\n  p = softmax(s; axis=3)\n  y = matmul(p, k)\n  return y\n",
       {},
       {}},
  };
}

TEST(Attention, IsRecognizedByWhatItComputes) {
  for (const AttentionText& form : attention_texts()) {
    SCOPED_TRACE(form.name);
    const core::Graph graph = soapstone::graph_of(form.text);
    const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
    const core::TensorId output = graph.outputs()[0];
    const auto region = make_region(graph, nodes, graph.outputs());
    ASSERT_TRUE(region.ok()) << region.error().to_string();
    const auto found = attention_of(graph, *region);
    EXPECT_EQ(found.ok(), !form.queries.empty()) << (found ? "" : found.error().to_string());
    if (!found || form.queries.empty()) continue;
    EXPECT_EQ(found->queries.dims, form.queries);
    EXPECT_EQ(found->keys.dims, form.keys);
    EXPECT_EQ(found->added.size(), form.added);
    EXPECT_EQ(found->scale, form.scale);
    EXPECT_EQ(found->runs, form.runs);
    test::TensorValues values = test::all_values(graph);
    const auto wanted = values.at(output);
    std::ranges::fill(values.at(output), std::nan(""));
    test::run_operations(operations_of(*found), values);
    runtime::test::expect_close(values.at(output), wanted, 1e-6, form.text);
  }
}

// --- groups -------------------------------------------------------------------------------------

bool is_admitted(const core::Graph&, const runtime::Launch&) { return true; }

/// Every launch reads what is there or what an earlier one stores.
void expect_in_order(const core::Graph& graph, std::span<const runtime::Launch> launches) {
  std::set<core::TensorId> stored;
  const auto is_there = [&](const auto& self, core::TensorId id) -> bool {
    const core::NodeId producer = graph.tensor(id).producer;
    if (!producer.valid() || graph.is_constant_expression(id) || stored.contains(id)) return true;
    return is_kernel_view(graph, producer) && self(self, graph.node(producer).inputs[0]);
  };
  for (const runtime::Launch& launch : launches) {
    for (const core::TensorId input : launch.inputs)
      EXPECT_TRUE(is_there(is_there, input)) << graph.tensor(input).name;
    stored.insert(launch.outputs.begin(), launch.outputs.end());
  }
  for (const core::TensorId output : graph.outputs()) EXPECT_TRUE(is_there(is_there, output));
}

/// The launches of the graph that are attention.
std::vector<runtime::Launch> attention_launches(const core::Graph& graph,
                                                const LaunchFit& fits = is_admitted) {
  auto launches = *cover(graph, runtime::Fusion::kFull, fits);
  expect_in_order(graph, launches);
  std::erase_if(launches, [&](const runtime::Launch& launch) {
    const auto region = make_region(graph, launch.nodes(), launch.outputs);
    return !region || !attention_of(graph, *region);
  });
  return launches;
}

TEST(Attention, OfNetworksIsOneLaunchThatMeansTheSame) {
  const std::map<std::string, std::size_t> per_network = {
      {"bert_base", 1}, {"swin", 12},      {"gpt", 1},     {"llama", 1},
      {"moe", 1},       {"nmt", 1},        {"vit", 1},     {"unet", 6},
      {"bert", 1},      {"bert_large", 1}, {"mixtral", 1}, {"deepseek_moe", 1}};
  for (const models::ModelBuilder& builder : models::builders()) {
    SCOPED_TRACE(builder.name);
    const auto graph = models::build_model(builder.name, models::small_sizes(builder));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const auto launches = attention_launches(*graph);
    const auto wanted = per_network.find(std::string(builder.name));
    EXPECT_EQ(launches.size(), wanted == per_network.end() ? 0 : wanted->second);
    if (launches.empty()) continue;
    const test::TensorValues values = test::all_values(*graph);
    std::size_t in_runs = 0;
    for (const runtime::Launch& launch : launches) {
      const auto operations = operation_graph_of(*graph, launch.nodes(), launch.outputs);
      ASSERT_TRUE(operations.ok()) << operations.error().to_string();
      in_runs += operations->runs == 2;
      test::TensorValues own = values;
      std::ranges::fill(own.at(launch.outputs[0]), std::nan(""));
      test::run_operations(*operations, own);
      runtime::test::expect_close(own.at(launch.outputs[0]), values.at(launch.outputs[0]), 1e-5,
                                  std::string(builder.name));
    }
    // Shifted windows lie at three distances in a batch of two images: a run for each.
    EXPECT_EQ(in_runs, builder.name == std::string_view("swin") ? 5 : 0);
  }
}

/// A mask that only the softmax reads is computed by a kernel of its own; shares that others read,
/// too, are stored, so that there is no such launch.
TEST(Attention, LeavesOutWhatIsNoPartOfIt) {
  const std::string masks = "  m: f32[2, 1, 1, 5]\n";
  const core::Graph masked = soapstone::graph_of(
      with_heads(kThree + masks, "  n = exp(m)\n  t = add(s, n)\n  p = softmax(t; axis=3)\n"));
  const auto launches = attention_launches(masked);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(cover(masked, runtime::Fusion::kFull, is_admitted)->size(), 2u);
  const core::Graph shared =
      soapstone::graph_of(with_heads(kThree, kSoftmax, "  y = matmul(p, vh)\n  return y, p\n"));
  EXPECT_TRUE(attention_launches(shared).empty());
}

// --- cuDNN --------------------------------------------------------------------------------------

/// How many configurations cuDNN proposes for the launch on a card that is not here.
std::size_t proposals(const std::shared_ptr<const Cudnn>& cudnn, const core::Graph& graph,
                      const runtime::Launch& launch, const Target& target) {
  auto operations = operation_graph_of(graph, launch.nodes(), launch.outputs);
  EXPECT_TRUE(operations.ok()) << operations.error().to_string();
  const auto device = described_device(*cudnn, cudnn_properties(target));
  EXPECT_TRUE(device.ok()) << device.error().to_string();
  const auto made = CudnnGraph::make(cudnn, *std::move(operations));
  EXPECT_TRUE(made.ok()) << made.error().to_string();
  const auto found = made->configurations(*device, cudnn::HeuristicMode::kA, FloatMath::kExact);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  return found->size();
}

class CudnnAttention : public ::testing::TestWithParam<core::DataType> {
 protected:
  void SetUp() override {
    auto loaded = load_cudnn();
    if (!loaded || !provide_driver()) GTEST_SKIP() << "there is no cuDNN, or no driver nor stub";
    cudnn_ = *std::move(loaded);
  }
  std::shared_ptr<const Cudnn> cudnn_;
};

/// Those of all networks that have any, at their full size but for repeated layers.
TEST_P(CudnnAttention, OfNetworksHasEnginesOnAllKnownCards) {
  const std::pair<std::string, models::ParameterValues> networks[] = {
      {"bert_base", {{"layers", 1}}}, {"gpt", {{"layers", 1}}}, {"llama", {{"layers", 1}}},
      {"moe", {{"layers", 1}}},       {"nmt", {{"steps", 8}}},  {"swin", {}},
      {"swin", {{"batch", 2}}}};
  for (const auto& [name, sizes] : networks) {
    models::NetworkOptions options;
    options.type = GetParam();
    const auto built = models::build_network(name, sizes, options);
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    std::set<std::string> seen;
    for (const runtime::Launch& launch :
         attention_launches(built->graph, is_attention_of_known_cards)) {
      if (!seen.insert(runtime::launch_signature(built->graph, launch)).second) continue;
      for (const Target& target : known_targets())
        EXPECT_GT(proposals(cudnn_, built->graph, launch, target), 0u)
            << name << " on " << target.name;
    }
    EXPECT_EQ(seen.size(), name == "swin" ? 7u : 1u) << name;
  }
}

/// What is assumed of cards that are not here is what cuDNN answers for them.
TEST_P(CudnnAttention, HasEnginesForTheHeadsThatAreAssumed) {
  for (const std::int64_t size : {4, 8, 12, 64, 80, 264}) {
    const core::Graph graph = soapstone::graph_of(fmt::format(
        "graph g\n  q: {1}[2, 5, {0}]\n  k: {1}[2, 6, {0}]\n  v: {1}[2, 6, {0}]\n"
        "  kt = transpose(k; perm=[0, 2, 1])\n  s = matmul(q, kt)\n  p = softmax(s; axis=2)\n"
        "  y = matmul(p, v)\n  return y\n",
        size, core::to_string(GetParam())));
    const auto launches = attention_launches(graph);
    ASSERT_EQ(launches.size(), 1u);
    for (const Target& target : known_targets())
      EXPECT_EQ(is_attention_of_known_cards(graph, launches[0]),
                proposals(cudnn_, graph, launches[0], target) > 0)
          << size << " on " << target.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudnnAttention,
                         ::testing::Values(core::DataType::kFloat16, core::DataType::kBFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

}  // namespace
}  // namespace soapstone::gpu
