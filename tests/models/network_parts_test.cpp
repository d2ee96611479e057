// Every node of the built-in networks, small, in parts: put together in the prime field they are
// the whole.
#include <gtest/gtest.h>

#include <set>

#include "models/networks/builders.h"
#include "tests/models/small_sizes.h"
#include "tests/ops/partition/parts_in_field.h"

namespace soapstone::models {
namespace {

using ops::test::FieldValues;
using ops::test::Outcome;

/// A node by itself, all operands as inputs.
struct AloneNode {
  core::Graph graph;
  core::NodeId node;
};

std::optional<AloneNode> alone(const core::Graph& graph, const core::Node& node) {
  core::GraphBuilder builder;
  std::vector<core::TensorId> inputs;
  for (core::TensorId id : node.inputs)
    inputs.push_back(
        id.valid() ? builder.add_input("x" + std::to_string(inputs.size()), graph.tensor(id).type)
                   : id);
  std::vector<core::TensorType> types;
  for (core::TensorId id : node.outputs) types.push_back(graph.tensor(id).type);
  builder.set_outputs(builder.add_node(*node.op, node.attributes, inputs, types));
  auto made = std::move(builder).finish();
  if (!made) return std::nullopt;
  const core::NodeId id = made->order()[0];
  return AloneNode{*std::move(made), id};
}

/// By outcome: how many cuts.
using Counts = std::map<Outcome, int>;

void check_node(const AloneNode& one, const std::vector<bool>& is_weight, Counts& counts) {
  const auto space = ops::partition_space(one.graph, one.node, is_weight);
  std::mt19937_64 random(3);
  std::vector<FieldValues> inputs;
  for (core::TensorId id : one.graph.inputs())
    inputs.push_back(ops::test::field_values(one.graph.tensor(id).type, random));
  const auto whole = ops::evaluate_graph<ops::Field::Value>(one.graph, inputs);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  for (std::size_t l = 0; l < space.loops.size(); ++l)
    for (const auto& cut : ops::test::cuts_of(space.loops[l].size)) {
      std::string message;
      const Outcome outcome =
          ops::test::compare_parts(one.graph, one.node, space, {{l, cut}}, inputs, *whole, message);
      ++counts[outcome];
      // A part of a mean over a window divides by the size of the whole window: no pooling does.
      const bool is_part_of_window =
          one.graph.node(one.node).op->name == "average_pool" && !space.loops[l].is_index();
      EXPECT_TRUE(outcome == Outcome::kEqual || outcome == Outcome::kJoinsBetween ||
                  (is_part_of_window && outcome == Outcome::kRefused))
          << one.graph.node(one.node).op->name << " loop " << l << ": " << message << "\n"
          << core::print(one.graph);
    }
}

class NetworkParts : public ::testing::TestWithParam<std::string> {};

TEST_P(NetworkParts, PutTogetherAreTheWhole) {
  const ModelBuilder* builder = nullptr;
  for (const ModelBuilder& b : builders())
    if (b.name == GetParam()) builder = &b;
  ASSERT_TRUE(builder);
  const auto graph = build_model(builder->name, small_sizes(*builder));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  std::set<std::uint64_t> seen;  // alike nodes once
  Counts counts;
  for (core::NodeId id : graph->order()) {
    const core::Node& node = graph->node(id);
    const auto one = alone(*graph, node);
    if (!one || !seen.insert(one->graph.hash()).second) continue;
    std::vector<bool> is_weight;
    for (core::TensorId t : node.inputs)
      is_weight.push_back(t.valid() && graph->is_constant_expression(t));
    check_node(*one, is_weight, counts);
  }
  RecordProperty("nodes", static_cast<int>(seen.size()));
  RecordProperty("equal", counts[Outcome::kEqual]);
  RecordProperty("joins_between", counts[Outcome::kJoinsBetween]);
  EXPECT_GT(counts[Outcome::kEqual], 0);
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const ModelBuilder& b : builders()) names.push_back(b.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, NetworkParts, ::testing::ValuesIn(network_names()),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace soapstone::models
