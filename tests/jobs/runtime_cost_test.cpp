// Costs by the kernels of a runtime: what fuses is learned from what was seen, found again in other
// graphs, and timed where it is not known.
#include "jobs/kernels/runtime_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <optional>

#include "jobs/kernels/kernel_costs.h"
#include "tests/support/graphs.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::NodeId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph linear(std::string_view dims, std::string_view result = "z") {
  return graph_of(fmt::format(R"(graph g
  x: f32[{0}]
  w: f32[{0}]
  b: f32[{0}]
  y = matmul(x, w)
  t = add(y, b)
  z = relu(t)
  return {1}
)",
                              dims, result));
}

std::vector<std::size_t> sizes(const LearnedFusions& fusions, const Graph& graph) {
  std::vector<std::size_t> sizes;
  for (const KernelNodes& kernel : fusions.cover(graph)) sizes.push_back(kernel.nodes.size());
  return sizes;
}

/// Knows that all of linear() is one kernel.
LearnedFusions one_kernel() {
  LearnedFusions fusions;
  const Graph graph = linear("8, 8");
  fusions.learn(graph, graph.order(), {});
  return fusions;
}

TEST(LearnedFusions, AreFoundAtOtherSizes) {
  LearnedFusions nothing;
  EXPECT_THAT(sizes(nothing, linear("4, 4")), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes(one_kernel(), linear("4, 4")), ElementsAre(3));
  EXPECT_THAT(sizes(one_kernel(), linear("2, 4, 4")), ElementsAre(1, 1, 1)) << "another rank";
}

TEST(LearnedFusions, WhatIsInsideHasNoOtherReader) {
  EXPECT_THAT(sizes(one_kernel(), linear("4, 4", "z, y")), ElementsAre(1, 1, 1));
  LearnedFusions exporting;
  const Graph graph = linear("8, 8");
  exporting.learn(graph, graph.order(), [&](NodeId id) { return id == graph.order()[0]; });
  EXPECT_THAT(sizes(exporting, linear("4, 4", "z, y")), ElementsAre(3));
}

TEST(LearnedFusions, OperandsMustBeTheSame) {
  const auto product = [](std::string_view operands) {
    return graph_of(fmt::format("graph g\n  x: f32[4]\n  y: f32[4]\n  m = mul({})\n  z = relu(m)\n"
                                "  return z\n",
                                operands));
  };
  LearnedFusions fusions;
  const Graph square = product("x, x");
  fusions.learn(square, square.order(), {});
  EXPECT_THAT(sizes(fusions, product("y, y")), ElementsAre(2));
  EXPECT_THAT(sizes(fusions, product("x, y")), ElementsAre(1, 1));
}

TEST(LearnedFusions, SignaturesTellSizesAndAreTheSameForTheSameWork) {
  LearnedFusions fusions = one_kernel();
  const auto signature = [&](const Graph& graph) { return fusions.cover(graph).at(0).signature; };
  EXPECT_EQ(signature(linear("4, 4")), signature(linear("4, 4")));
  EXPECT_NE(signature(linear("4, 4")), signature(linear("8, 8")));
  const Graph graph = linear("4, 4");
  EXPECT_EQ(fusions.learn(graph, graph.order(), {}), signature(graph));
}

TEST(LearnedFusions, SurviveAsText) {
  LearnedFusions read;
  EXPECT_TRUE(read.add_text(one_kernel().to_text()));
  EXPECT_EQ(read.size(), 1U);
  EXPECT_THAT(sizes(read, linear("4, 4")), ElementsAre(3));
  for (const char* wrong : {"1 0", "1 0 1 3 1 0", "1 0 1 3 7 0 2 0 0", "1 0 0", "x"}) {
    EXPECT_FALSE(read.add_text(wrong)) << wrong;
  }
  EXPECT_EQ(read.size(), 1U);
}

/// Two convolutions in a private layout, the second one with its sum, and a reader that wants the
/// ordinary one.
class Kernels : public ::testing::Test {
 protected:
  Kernels() {
    for (std::size_t i = 0; i < graph_.tensor_bound(); ++i)
      names_.tensors.emplace(name(core::TensorId(i)), core::TensorId(i));
  }
  static std::string name(core::TensorId id) { return observed_name(id); }
  std::string out(std::size_t node) const {
    return name(graph_.node(graph_.order()[node]).outputs[0]);
  }

  const Graph graph_ = graph_of(R"(graph g
  x: f32[1, 8, 4, 4]
  v: f32[8, 8, 1, 1]
  w: f32[8, 8, 1, 1]
  a = conv(x, v)
  c = conv(a, w)
  s = add(c, a)
  t = softmax(s; axis=3)
  return t
)");
  WrittenNames names_;
};

TEST_F(Kernels, NodesWithoutOneJoinTheirNeighbors) {
  const std::string x = name(graph_.inputs()[0]), v = name(graph_.inputs()[1]),
                    w = name(graph_.inputs()[2]);
  workers::RuntimeProfile profile;
  profile.kernels = {{"in", "ReorderInput", {x}, {"r0"}, {}, 1},
                     {out(0) + "_nchwc", "Conv", {"r0", v}, {"r1"}, {}, 10},
                     {out(1) + "_nchwc", "Conv", {"r1", w, "r1"}, {"r2"}, {}, 20},
                     {"out", "ReorderOutput", {"r2"}, {out(2)}, {}, 2},
                     {"", "Softmax", {out(2)}, {out(3)}, {}, 5}};
  profile.total_us = 40;
  const ObservedGraph seen = match_kernels(graph_, names_, profile);
  ASSERT_EQ(seen.launches.size(), 3U);
  const ObservedLaunch &first = seen.launches[0], &second = seen.launches[1];
  EXPECT_THAT(first.nodes, ElementsAre(graph_.order()[0]));
  EXPECT_THAT(second.nodes, ElementsAre(graph_.order()[1], graph_.order()[2]));
  EXPECT_EQ(first.us, 10);
  EXPECT_EQ(first.enter_us, 1);
  EXPECT_EQ(second.leave_us, 2);
  EXPECT_TRUE(first.reads_private && second.reads_private && second.writes_private);
  EXPECT_FALSE(seen.launches[2].reads_private || seen.launches[2].writes_private);
  EXPECT_EQ(seen.kernels_us, 38);
  EXPECT_EQ(seen.unassigned_us, 0);
}

TEST_F(Kernels, ANodeBelongsToTheKernelOfItsOperator) {
  // The second kernel is named after the sum that it makes: its convolution belongs to it although
  // the first one hands on something private. The last kernel reads one private tensor, as one that
  // only converts does, but has the name of a node's operator.
  workers::RuntimeProfile profile;
  profile.kernels = {{out(0) + "_nchwc", "Conv", {}, {"r1"}, {}, 10},
                     {out(2) + "_nchwc", "Conv", {"r1"}, {"r2"}, {}, 20},
                     {"", "Softmax", {"r2"}, {out(3)}, {}, 5}};
  const ObservedGraph seen = match_kernels(graph_, names_, profile);
  ASSERT_EQ(seen.launches.size(), 3U);
  EXPECT_THAT(seen.launches[0].nodes, ElementsAre(graph_.order()[0]));
  EXPECT_THAT(seen.launches[1].nodes, ElementsAre(graph_.order()[1], graph_.order()[2]));
}

TEST_F(Kernels, ANodeIsInsideOnlyIfNobodyElseReadsItsOperand) {
  // The second convolution runs with the sum: had it run with the first one, that one's result
  // would be nowhere, and the sum reads it.
  workers::RuntimeProfile profile;
  profile.kernels = {{out(0) + "_nchwc", "Conv", {}, {"r1"}, {}, 10},
                     {out(2), "Other", {"r1"}, {"r2"}, {}, 20},
                     {"", "Softmax", {"r2"}, {out(3)}, {}, 5}};
  const ObservedGraph seen = match_kernels(graph_, names_, profile);
  ASSERT_EQ(seen.launches.size(), 3U);
  EXPECT_THAT(seen.launches[0].nodes, ElementsAre(graph_.order()[0]));
  EXPECT_THAT(seen.launches[1].nodes, ElementsAre(graph_.order()[1], graph_.order()[2]));
}

TEST_F(Kernels, OriginsAreBelieved) {
  workers::RuntimeProfile profile;
  profile.kernels = {{"k0", "Some", {}, {"k0"}, {out(0)}, 10},
                     {"k1", "Some", {"k0"}, {"k1"}, {out(1), out(2), out(3)}, 20}};
  const ObservedGraph seen = match_kernels(graph_, names_, profile);
  ASSERT_EQ(seen.launches.size(), 2U);
  EXPECT_THAT(seen.launches[0].nodes, ElementsAre(graph_.order()[0]));
  EXPECT_EQ(seen.launches[1].nodes.size(), 3U);
  EXPECT_EQ(seen.launches[1].us, 20);
}

TEST(KernelsOfSeveralResults, ShareTheirTime) {
  const Graph graph = graph_of(R"(graph g
  x: f32[4]
  a = relu(x)
  b = neg(x)
  return a, b
)");
  WrittenNames names;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i)
    names.tensors.emplace(observed_name(core::TensorId(i)), core::TensorId(i));
  workers::RuntimeProfile profile;
  profile.kernels = {{"both", "Both", {}, {}, {}, 6}};
  for (const core::TensorId id : graph.outputs())
    profile.kernels[0].outputs.push_back(observed_name(id));
  const ObservedGraph seen = match_kernels(graph, names, profile);
  ASSERT_EQ(seen.launches.size(), 2U);
  EXPECT_EQ(seen.launches[0].us, 3);
  EXPECT_EQ(seen.launches[1].us, 3);
}

std::unique_ptr<RuntimeCost> cost_of(Deployment deployment, cost::CostDatabase* database) {
  auto probe = RuntimeProbe::make(std::move(deployment), 17);
  EXPECT_TRUE(probe.ok());
  return RuntimeCost::make(*std::move(probe), database, "here");
}

TEST(RuntimeCostOfAFake, WhatCannotBeProfiledIsAnEstimateThatSaysWhy) {
  const TemporaryFolder folder;
  workers::WorkerOptions options;
  options.command = {"python3",
                     "-I",
                     "-S",
                     (SOAPSTONE_SOURCE_DIR "/tests/workers/fake_worker.py"),
                     "profile:refuse",
                     (folder.path() / "processes").string()};
  auto worker = workers::RuntimeWorker::start(options);
  ASSERT_TRUE(worker.ok()) << worker.error().to_string();
  const auto cost = cost_of({*std::move(worker), {}}, nullptr);
  const Graph graph = linear("64, 64");
  const cost::GraphCost total = cost->graph_cost(graph);
  EXPECT_EQ(total.launches, 3U);
  EXPECT_GT(total.total_us, 0);
  EXPECT_EQ(total.estimated_us, total.total_us);
  for (const auto& item : cost->breakdown(graph))
    EXPECT_THAT(item.implementation, HasSubstr("no kernel"));
  const std::size_t failures = cost->counts().failures;
  cost->graph_cost(graph);
  EXPECT_EQ(cost->counts().failures, failures) << "nobody asks twice";
}

class OnnxRuntimeCost : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!open()) GTEST_SKIP() << why_;
  }
  std::optional<Deployment> open() {
    auto opened = open_deployment({}, 1);
    if (!opened) return std::nullopt;
    why_ = opened->why_not;
    return std::move(opened->deployment);
  }
  std::string why_;
};

TEST_F(OnnxRuntimeCost, FindsFusionsAndRemembersThem) {
  const TemporaryFolder folder;
  const auto database = cost::CostDatabase::open(folder.path() / "costs.db");
  ASSERT_TRUE(database.ok());
  const Graph graph = linear("128, 128");
  double us = 0;
  {
    const auto cost = cost_of(*open(), database->get());
    const cost::GraphCost total = cost->graph_cost(graph);
    us = total.total_us;
    EXPECT_GT(us, 1);
    EXPECT_EQ(total.estimated_us, 0);
    EXPECT_LT(total.launches, 3U) << "relu runs with what is before it";
    EXPECT_GE(cost->counts().patterns, 1U);
  }
  const auto cost = cost_of(*open(), database->get());
  EXPECT_NEAR(cost->graph_cost(graph).total_us, us, 0.01) << "kept to the nanosecond";
  EXPECT_EQ(cost->counts().observations, 0U);
}

TEST_F(OnnxRuntimeCost, PredictsASum) {
  const auto cost = cost_of(*open(), nullptr);
  const auto chain = [](int length) {
    std::string text = "graph g\n  x0: f32[256, 256]\n  w: f32[256, 256]\n";
    for (int i = 0; i < length; ++i)
      text += fmt::format("  y{0} = matmul(x{0}, w)\n  x{1} = tanh(y{0})\n", i, i + 1);
    return graph_of(text + fmt::format("  return x{}\n", length));
  };
  const double two = cost->graph_cost(chain(2)).total_us;
  const std::size_t observations = cost->counts().observations;
  const double six = cost->graph_cost(chain(6)).total_us;
  EXPECT_NEAR(six, 3 * two, 0.01 * six);
  EXPECT_EQ(cost->counts().observations, observations) << "nothing new in the longer one";
}

}  // namespace
}  // namespace soapstone::jobs
