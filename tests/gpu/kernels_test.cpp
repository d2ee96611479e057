// Generated kernels, run on the host, compute what the operators mean.
#include <gtest/gtest.h>

#include <random>

#include "core/text/text.h"
#include "runtime/execution/elements.h"
#include "tests/gpu/host_kernels.h"
#include "tests/ops/op_examples.h"
#include "tests/runtime/random_graph.h"

namespace soapstone::gpu {
namespace {

using test::HostKernels;
using test::KernelGraph;

/// Relative to the larger of 1 and the value that is right.
double tolerance_of(core::DataType type) {
  return type == core::DataType::kFloat32 ? 1e-4 : type == core::DataType::kFloat16 ? 1e-2 : 8e-2;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

core::Graph example_graph(const ops::test::OpExample& example, core::DataType type) {
  std::string text = "graph example\n", names;
  std::string inputs = example.inputs.empty() ? "" : "  " + example.inputs + "\n";
  for (std::size_t k = 0; k < example.result_count(); ++k)
    names += (k ? ", y" : "y") + std::to_string(k);
  text += replaced(inputs, "  ", "\n  ").substr(inputs.empty() ? 0 : 1);
  text += "  " + names + " = " + example.call + "\n  return " + names + "\n";
  return graph_of(replaced(text, "f32", core::to_string(type)));
}

std::vector<core::Literal> inputs_of(const core::Graph& graph, bool positive) {
  std::vector<core::Literal> inputs = runtime::random_inputs(graph, 1);
  if (!positive) return inputs;
  for (core::Literal& input : inputs) {
    std::vector<double> values = input.to_doubles();
    for (double& value : values) value = std::fabs(value) + 0.5;
    const core::TensorType type{input.data_type(), core::to_shape(input.dims())};
    std::vector<std::byte> bytes(input.bytes().size());
    runtime::store_elements(type, runtime::Layout::kRowMajor, values, bytes.data());
    input = core::Literal::copy(input.data_type(), input.dims(), bytes);
  }
  return inputs;
}

void expect_right(const KernelGraph& kernels, const HostKernels& library, bool positive,
                  double tolerance) {
  const auto inputs = inputs_of(kernels.graph(), positive);
  const auto wanted = runtime::test::expected(kernels.graph(), inputs);
  const auto actual = kernels.run(library, inputs);
  std::string sources;
  for (const KernelText& text : kernels.texts()) sources += text.source;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    runtime::test::expect_close(actual[k], wanted[k], tolerance,
                                core::print(kernels.graph()) + sources);
}

class Examples : public ::testing::TestWithParam<core::DataType> {};

TEST_P(Examples, AreComputed) {
  HostKernels library;
  std::vector<std::pair<KernelGraph, bool>> all;
  for (const auto& example : ops::test::op_examples())
    all.emplace_back(KernelGraph(example_graph(example, GetParam()), library), example.positive);
  ASSERT_EQ(library.compile(), "");
  for (const auto& [graph, positive] : all)
    expect_right(graph, library, positive, tolerance_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Types, Examples,
                         ::testing::Values(core::DataType::kFloat32, core::DataType::kFloat16,
                                           core::DataType::kBFloat16),
                         [](const auto& type) { return std::string(core::to_string(type.param)); });

TEST(RandomGraphs, AreComputedByFewerKernels) {
  HostKernels library;
  std::vector<KernelGraph> all;
  for (unsigned seed = 0; seed < 60; ++seed)
    all.emplace_back(runtime::test::RandomGraph(seed).make(4 + seed % 12), library);
  ASSERT_EQ(library.compile(), "");
  std::size_t nodes = 0, kernels = 0;
  for (const KernelGraph& graph : all) {
    nodes += graph.graph().order().size();
    kernels += graph.groups().size();
    expect_right(graph, library, false, 1e-3);
  }
  EXPECT_LT(kernels, nodes);
}

}  // namespace
}  // namespace soapstone::gpu
