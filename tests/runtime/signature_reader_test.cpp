// Signatures read back: the same launch, by its signature; and what is none is refused.
#include "runtime/launches/signature_reader.h"

#include <gtest/gtest.h>

#include "tests/ops/op_examples.h"
#include "tests/runtime/random_graph.h"
#include "tests/runtime/typed_graphs.h"
#include "tests/support/graphs.h"

namespace soapstone::runtime {
namespace {

/// The signature of a launch of all nodes of the graph.
std::string signature_of_all(const core::Graph& graph) {
  Launch launch;
  launch.head = graph.order()[0];
  launch.others.assign(graph.order().begin() + 1, graph.order().end());
  std::set<core::TensorId> seen;
  for (const core::NodeId node : graph.order()) {
    for (const core::TensorId input : graph.node(node).inputs)
      if (input.valid() && seen.insert(input).second) launch.inputs.push_back(input);
    for (const core::TensorId output : graph.node(node).outputs) seen.insert(output);
  }
  for (const core::TensorId output : graph.outputs())
    if (graph.tensor(output).producer.valid()) launch.outputs.push_back(output);
  return launch_signature(graph, launch);
}

void expect_read_back(const std::string& signature) {
  const auto read = read_launch_signature(signature);
  ASSERT_TRUE(read.ok()) << signature << "\n" << read.error().to_string();
  EXPECT_EQ(launch_signature(read->graph, read->launch, read->layouts), signature);
}

TEST(SignatureReader, ReadsLaunchesOfOneNode) {
  expect_read_back("relu(%0) | %0: f32[2, 3] | result: f32[2, 3]");
  expect_read_back("relu(%0) | %0: f16[1, 2, 3, 4] channels-last | result: f16[1, 2, 3, 4]");
  expect_read_back("add(%0, %0) | %0: f32[] | result: f32[]");
  expect_read_back("pow(%0, %1) | %0: f32[8] | %1: constant -0.5 f32[] | result: f32[8]");
  expect_read_back(
      "split(%0; axis=0, sizes=[1, 2]) | %0: f32[3] | result: f32[1] | result: f32[2]");
}

TEST(SignatureReader, ReadsLaunchesOfAnyShape) {
  expect_read_back("relu(%0) -> mul(%0, %1) | %0: f32[4] | result %2: f32[4]");
}

/// What stood in a chain stands among the others, the factor of a gate before its function.
TEST(SignatureReader, ReadsChains) {
  const auto chain = read_launch_signature(
      "matmul(%0, %1) -> add(%, %2) -> relu(%) | %0: f32[2, 3] | %1: constant f32[3, 4] | "
      "%2: constant f32[4] | result: f32[2, 4]");
  ASSERT_TRUE(chain.ok()) << chain.error().to_string();
  EXPECT_EQ(chain->launch.others.size(), 2u);
  EXPECT_EQ(chain->launch.inputs.size(), 3u);
  const auto gate = read_launch_signature(
      "matmul(%0, %1) -> sigmoid(%) -> mul(%, %) | %0: f32[2, 3] | %1: f32[3, 4] | "
      "result: f32[2, 4]");
  ASSERT_TRUE(gate.ok()) << gate.error().to_string();
  const auto& product = gate->graph.node(gate->launch.others.at(1));
  EXPECT_EQ(gate->graph.tensor(product.inputs[0]).producer, gate->launch.head);
  EXPECT_EQ(gate->graph.tensor(product.inputs[1]).producer, gate->launch.others[0]);
}

TEST(SignatureReader, ReadsAllExamplesAndRandomGraphs) {
  for (const auto& example : ops::test::op_examples()) {
    const core::Graph graph = graph_of(example.graph_text());
    if (!graph.order().empty()) expect_read_back(signature_of_all(graph));
  }
  for (unsigned seed = 0; seed < 100; ++seed)
    expect_read_back(signature_of_all(test::RandomGraph(seed).make(4 + seed % 12)));
}

TEST(SignatureReader, RefusesWhatIsNone) {
  for (const char* text :
       {"", "relu", "relu(%0)",
        "convert | %0: f32[1, 2, 3, 4] | result: f32[1, 2, 3, 4] channels-last",
        "unheard_of(%0) | %0: f32[2] | result: f32[2]", "relu(%1) | %0: f32[2] | result: f32[2]",
        "relu(%0) | %1: f32[2] | result: f32[2]", "relu(%0) | %0: f32[2] | result: f32[3]",
        "relu(%0) | %0: [2] | result: f32[2]", "relu(%) | %0: f32[2] | result: f32[2]",
        "relu(%0) | %0: f32[2] | result: f32[2] | result: f32[2]",
        "relu(%0) | %0: f32[2] | result: f32[2] | %1: f32[2]",
        "relu(%99999999999999999999) | %0: f32[2] | result: f32[2]"}) {
    const auto read = read_launch_signature(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, core::ErrorCode::kInvalidInput) << text;
  }
}

}  // namespace
}  // namespace soapstone::runtime
