#include "search/regions/region.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "search/equivalence/random_weights.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// A layer reads the one before and one that lies further back.
Graph layers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  core::GraphBuilder builder("layers");
  const core::TensorType type{core::DataType::kFloat32, {4, 4}, true};
  std::vector<TensorId> values{builder.add_input("x", type)};
  for (std::size_t k = 0; k < count; ++k) {
    const auto w = builder.add_constant(weights(4, 4, static_cast<float>(k)));
    const TensorId far =
        values[values.size() - 1 - random() % std::min<std::size_t>(9, values.size())];
    const auto y = ops::append(builder, "matmul", {values.back(), w});
    const auto z = ops::append(builder, "add", {(*y)[0], far});
    values.push_back((*z)[0]);
  }
  builder.set_outputs({values.back()});
  return *std::move(builder).finish();
}

/// `count` equal blocks in a row, each with weights of its own.
Graph equal_blocks(std::size_t count) {
  core::GraphBuilder builder("blocks");
  TensorId x = builder.add_input("x", {core::DataType::kFloat32, {6, 6}, true});
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<TensorId> sides;
    for (int side = 0; side < 2; ++side) {
      const auto w = builder.add_constant(
          weights(6, 6, static_cast<float>(k) + 0.1F * static_cast<float>(side)));
      sides.push_back((*ops::append(builder, "matmul", {x, w}))[0]);
    }
    const auto sum = ops::append(builder, "add", {sides[0], sides[1]});
    x = (*ops::append(builder, "relu", {(*sum)[0]}))[0];
  }
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

/// No path leaves the nodes and comes back: nothing outside lies both behind and before them.
bool is_convex(const Graph& graph, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::set<NodeId> behind;
  for (const NodeId id : graph.order()) {
    for (const TensorId input : graph.node(id).inputs) {
      const NodeId producer = graph.tensor(input).producer;
      if (!producer.valid()) continue;
      if (behind.contains(producer) && inside.contains(id)) return false;
      if (behind.contains(producer) || (inside.contains(producer) && !inside.contains(id)))
        behind.insert(id);
    }
  }
  return true;
}

TEST(Cover, HoldsEveryNodeInConvexSets) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = layers(60, seed);
    // Four readers of one tensor or more are searched together, with twelve nodes for each.
    std::size_t room_for_siblings = 0;
    for (const NodeId id : graph.order()) {
      std::set<NodeId> readers;
      for (const TensorId output : graph.node(id).outputs)
        readers.insert(graph.consumers(output).begin(), graph.consumers(output).end());
      if (readers.size() >= 4) room_for_siblings = std::max(room_for_siblings, 12 * readers.size());
    }
    for (const TensorId input : graph.inputs())
      if (graph.consumers(input).size() >= 4)
        room_for_siblings = std::max(room_for_siblings, 12 * graph.consumers(input).size());
    for (const std::size_t size : {std::size_t{2}, std::size_t{7}, std::size_t{24}}) {
      std::set<NodeId> covered;
      for (const auto& nodes : cover(graph, size)) {
        EXPECT_LE(nodes.size(), std::max(size, room_for_siblings));
        EXPECT_TRUE(is_convex(graph, nodes)) << "seed " << seed << ", size " << size;
        covered.insert(nodes.begin(), nodes.end());
      }
      EXPECT_EQ(covered.size(), graph.order().size()) << "seed " << seed << ", size " << size;
    }
  }
}

TEST(Cover, TakesASmallGraphWhole) {
  const Graph graph = equal_blocks(3);
  const auto regions = cover(graph, graph.order().size());
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].size(), graph.order().size());
}

/// Every step reads its own input through one weight, and the state through another.
Graph recurrent(std::size_t steps) {
  core::GraphBuilder builder("recurrent");
  const core::TensorType type{core::DataType::kFloat32, {1, 4}, true};
  const auto of_input = builder.add_constant(weights(4, 4, 1));
  const auto of_state = builder.add_constant(weights(4, 4, 2));
  TensorId state = builder.add_input("state", type);
  for (std::size_t k = 0; k < steps; ++k) {
    const TensorId x = builder.add_input("x" + std::to_string(k), type);
    const auto a = ops::append(builder, "matmul", {x, of_input});
    const auto b = ops::append(builder, "matmul", {state, of_state});
    const auto sum = ops::append(builder, "add", {(*a)[0], (*b)[0]});
    state = (*ops::append(builder, "tanh", {(*sum)[0]}))[0];
  }
  builder.set_outputs({state});
  return *std::move(builder).finish();
}

TEST(Cover, BringsTogetherWhatReadsOneWeightFarApart) {
  const std::size_t steps = 20, size = 12;
  const Graph graph = recurrent(steps);
  std::size_t together = 0;  // products with one weight in one region, at most
  for (const auto& nodes : cover(graph, size)) {
    EXPECT_LE(nodes.size(), size);
    EXPECT_TRUE(is_convex(graph, nodes));
    std::map<TensorId, std::size_t> readers;
    for (const NodeId id : nodes)
      if (graph.node(id).inputs.size() == 2) ++readers[graph.node(id).inputs[1]];
    for (const auto& [weight, count] : readers)
      if (graph.is_constant_expression(weight)) together = std::max(together, count);
  }
  EXPECT_GE(together, size / 2);  // the next step's product is four nodes away
}

TEST(Region, ComputesWhatItsNodesCompute) {
  const Graph graph = equal_blocks(2);
  const Region all = extract_region(graph, std::vector(graph.order().begin(), graph.order().end()));
  EXPECT_TRUE(same_structure(all.graph, graph));
  for (std::size_t k = 0; k < all.nodes.size(); ++k)
    EXPECT_EQ(all.graph.node(NodeId(k)).local_hash, graph.node(all.nodes[k]).local_hash);
}

TEST(Region, RepeatedBlocksAreOfFewKinds) {
  const auto kinds = [](std::size_t count) {
    const Graph graph = equal_blocks(count);
    std::set<std::vector<std::uint64_t>> signatures;
    for (const auto& nodes : cover(graph, 8))
      signatures.insert(extract_region(graph, nodes).signature);
    return signatures.size();
  };
  EXPECT_EQ(kinds(30), kinds(60));
  EXPECT_LT(kinds(60), 8U);
}

TEST(Region, SmallNumbersTellRegionsApart) {
  const auto signature = [](const char* number) {
    const Graph graph = graph_of(std::string("graph g\n  x: f32[4, 4]\n  c: f32[] = {") + number +
                                 "}\n  y = mul(x, c)\n  return y\n");
    return extract_region(graph, std::vector(graph.order().begin(), graph.order().end())).signature;
  };
  EXPECT_EQ(signature("2"), signature("2"));
  EXPECT_NE(signature("2"), signature("3"));
}

Graph times_full(double value) {
  core::GraphBuilder builder;
  const auto w = ops::append(builder, "full", {},
                             {{"shape", std::vector<core::Polynomial>{4, 4}}, {"value", value}});
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {4, 4}, true});
  builder.set_outputs({(*ops::append(builder, "matmul", {x, (*w)[0]}))[0]});
  return *std::move(builder).finish();
}

TEST(RandomWeights, AreEqualWhereTheValuesAre) {
  const auto same = randomize_weights(times_full(0.5), times_full(0.5), 1);
  EXPECT_EQ(same.original.hash(), same.rewritten.hash());
  const Graph& graph = same.original;
  const auto& weight = graph.tensor(graph.node(graph.order()[0]).inputs[1]).value;
  ASSERT_TRUE(weight);
  const auto values = weight->to_doubles();
  EXPECT_EQ(std::set(values.begin(), values.end()).size(), values.size());
}

TEST(RandomWeights, LeaveWhatTheOriginalDoesNotHave) {
  const auto other = randomize_weights(times_full(0.5), times_full(0.25), 1);
  EXPECT_NE(other.original.hash(), times_full(0.5).hash());
  EXPECT_EQ(other.rewritten.hash(), times_full(0.25).hash());
}

}  // namespace
}  // namespace soapstone::search
