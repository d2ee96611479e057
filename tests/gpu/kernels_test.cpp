// Generated kernels, run on the host, compute what the operators mean.
#include <gtest/gtest.h>

#include "core/text/text.h"
#include "models/networks/builders.h"
#include "tests/gpu/kernel_checks.h"
#include "tests/models/small_sizes.h"
#include "tests/runtime/random_graph.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::GroupingOptions;

using test::HostKernels;
using test::KernelGraph;

class Examples : public ::testing::TestWithParam<core::DataType> {};

TEST_P(Examples, AreComputed) {
  HostKernels library;
  std::vector<std::pair<KernelGraph, bool>> all;
  for (const auto& example : ops::test::op_examples())
    all.emplace_back(KernelGraph(test::graph_over(example.graph_text(), GetParam()), library),
                     example.positive);
  ASSERT_EQ(library.compile(), "");
  for (const auto& [graph, positive] : all)
    expect_right(graph, library, test::tolerance_of(GetParam()), positive);
}

INSTANTIATE_TEST_SUITE_P(Types, Examples,
                         ::testing::Values(core::DataType::kFloat32, core::DataType::kFloat16,
                                           core::DataType::kBFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

/// A hundred graphs from a seed on, in elements of a type.
class RandomGraphs : public ::testing::TestWithParam<std::pair<unsigned, core::DataType>> {};

TEST_P(RandomGraphs, AreComputedByFewerKernels) {
  const auto [first, type] = GetParam();
  HostKernels library;
  std::vector<KernelGraph> all;
  for (unsigned seed = first; seed < first + 100; ++seed) {
    const core::Graph graph = runtime::test::RandomGraph(seed).make(4 + seed % 12);
    all.emplace_back(test::graph_over(core::print(graph), type), library);
  }
  ASSERT_EQ(library.compile(), "");
  std::size_t nodes = 0, kernels = 0;
  for (const KernelGraph& graph : all) {
    nodes += graph.graph().order().size();
    kernels += graph.groups().size();
    expect_right(graph, library, type == core::DataType::kFloat32 ? 1e-3 : 5e-2);
  }
  EXPECT_LT(kernels, nodes);
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphs,
                         ::testing::Values(std::pair{0U, core::DataType::kFloat32},
                                           std::pair{100U, core::DataType::kFloat32},
                                           std::pair{200U, core::DataType::kFloat32},
                                           std::pair{0U, core::DataType::kFloat16},
                                           std::pair{100U, core::DataType::kFloat16},
                                           std::pair{200U, core::DataType::kFloat16}),
                         [](const auto& graphs) {
                           return std::string(core::to_string(graphs.param.second)) + "_from_" +
                                  std::to_string(graphs.param.first);
                         });

struct NetworkForm {
  const char* name;
  bool fuses;
  core::DataType type;
};

/// Every built-in network, small; equal kernels are compiled once.
class Networks : public ::testing::TestWithParam<NetworkForm> {};

TEST_P(Networks, AreComputed) {
  GroupingOptions options;
  options.fuses = GetParam().fuses;
  HostKernels library;
  std::vector<KernelGraph> all;
  for (const models::ModelBuilder& builder : models::builders()) {
    models::NetworkOptions network;
    network.type = GetParam().type;
    auto built = models::build_network(builder.name, models::small_sizes(builder), network);
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    all.emplace_back(std::move(built->graph), library, options);
  }
  ASSERT_EQ(library.compile(), "");
  for (const KernelGraph& graph : all)
    expect_right(graph, library, GetParam().type == core::DataType::kFloat32 ? 2e-3 : 0.1);
  RecordProperty("kernels", static_cast<int>(library.texts().size()));
}

INSTANTIATE_TEST_SUITE_P(All, Networks,
                         ::testing::Values(NetworkForm{"Fused", true, core::DataType::kFloat32},
                                           NetworkForm{"ByNodes", false, core::DataType::kFloat32},
                                           NetworkForm{"FusedIn16Bits", true,
                                                       core::DataType::kFloat16}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace soapstone::gpu
