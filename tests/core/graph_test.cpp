// Building and rewriting graphs, and what a finished graph knows.
#include "core/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/tiny_catalog.h"

namespace soapstone::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GraphTest : public testing::Test {
 protected:
  Graph finish(std::vector<TensorId> outputs) {
    b_.set_outputs(std::move(outputs));
    return std::move(b_).finish().value();
  }
  TensorId relu(TensorId x) { return append(b_, ops_["relu"], {x}); }
  TensorId add(TensorId x, TensorId y) { return append(b_, ops_["add"], {x, y}); }
  TensorId sub(TensorId x, TensorId y) { return append(b_, ops_["sub"], {x, y}); }

  TinyCatalog ops_;
  GraphBuilder b_{"g"};
  TensorId x_ = b_.add_input("x", f32({4}));
  TensorId y_ = b_.add_input("y", f32({4}));
};

TEST_F(GraphTest, KnowsProducersConsumersAndOutputs) {
  const TensorId r = relu(x_), s = add(r, r), t = sub(r, y_);
  const Graph g = finish({s, t});
  EXPECT_EQ(g.tensor(s).producer, NodeId(1));
  EXPECT_THAT(g.consumers(r), ElementsAre(NodeId(1), NodeId(2)));
  EXPECT_THAT(g.consumers(x_), ElementsAre(NodeId(0)));
  EXPECT_TRUE(g.consumers(s).empty());
  EXPECT_TRUE(g.is_output(t));
  EXPECT_FALSE(g.is_output(r));
  EXPECT_THAT(g.order(), ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
  EXPECT_TRUE(g.tensor(x_).is_input());
}

TEST_F(GraphTest, DropsDeadCodeAndKeepsInputs) {
  const TensorId c = b_.add_constant(constant({1, 2, 3, 4}));
  const TensorId dead = add(relu(x_), c), live = relu(y_);
  const Graph g = finish({live});
  EXPECT_EQ(g.order().size(), 1u);
  EXPECT_THAT(g.inputs(), ElementsAre(x_, y_));
  EXPECT_TRUE(g.contains(x_));
  EXPECT_FALSE(g.contains(c));
  EXPECT_FALSE(g.contains(dead));
  EXPECT_FALSE(g.contains(NodeId(0)));
  EXPECT_TRUE(g.consumers(x_).empty());
}

TEST_F(GraphTest, AllResultsOfALiveNodeStay) {
  const TensorId first = append(b_, ops_["split"], {x_}, {{"axis", 0}, {"sizes", Shape{1, 3}}});
  const Graph g = finish({first});
  EXPECT_TRUE(g.contains(g.node(NodeId(0)).outputs[1]));
}

TEST_F(GraphTest, ReplaceUsesKeepsIdsAndLeavesTheBaseAlone) {
  const TensorId r = relu(x_), s = add(r, y_), t = sub(r, s);
  b_.set_name(t, "out");
  const Graph base = finish({t});
  const std::uint64_t hash = base.hash();
  GraphBuilder next(base);
  const TensorId r2 = append(next, ops_["add"], {x_, x_});
  next.replace_uses(r, r2);
  const TensorId t2 = append(next, ops_["relu"], {t});
  next.set_outputs({t2});
  const Graph g = std::move(next).finish().value();
  EXPECT_EQ(base.hash(), hash);
  EXPECT_THAT(base.node(NodeId(1)).inputs, ElementsAre(r, y_));
  EXPECT_THAT(g.node(NodeId(1)).inputs, ElementsAre(r2, y_));
  EXPECT_THAT(g.node(NodeId(2)).inputs, ElementsAre(r2, s));
  EXPECT_FALSE(g.contains(r));
  // The new node stands right before its first reader.
  EXPECT_THAT(g.order(), ElementsAre(NodeId(3), NodeId(1), NodeId(2), NodeId(4)));
  EXPECT_THAT(g.consumers(r2), ElementsAre(NodeId(1), NodeId(2)));
}

TEST_F(GraphTest, ReplaceUsesFollowsEarlierReplacements) {
  const TensorId r = relu(x_), s = relu(r);
  const Graph base = finish({s});
  GraphBuilder next(base);
  const TensorId u = append(next, ops_["add"], {x_, y_});
  const TensorId v = append(next, ops_["sub"], {x_, y_});
  next.replace_uses(r, u);
  next.replace_uses(u, v);
  EXPECT_THAT(next.node(NodeId(1)).inputs, ElementsAre(v));
}

TEST_F(GraphTest, AnOutputKeepsItsNameWhenItIsReplaced) {
  const TensorId r = relu(x_);
  b_.set_name(r, "logits");
  const TensorId s = add(x_, y_);
  b_.set_name(s, "inner");
  b_.set_outputs({r});
  b_.replace_uses(r, s);
  const Graph g = finish({s});
  EXPECT_EQ(g.tensor(s).name, "logits");
}

TEST_F(GraphTest, InputsAndOtherOutputsKeepTheirNames) {
  const TensorId r = relu(x_), s = relu(y_);
  b_.set_name(r, "r");
  b_.set_name(s, "s");
  b_.set_outputs({r, s});
  b_.replace_uses(r, x_);
  EXPECT_EQ(b_.tensor(x_).name, "x");
  b_.set_outputs({r, s});
  b_.replace_uses(r, s);
  EXPECT_EQ(b_.tensor(s).name, "s");
  const Graph g = std::move(b_).finish().value();
  EXPECT_THAT(g.outputs(), ElementsAre(s, s));
}

TEST_F(GraphTest, ACycleIsAnErrorThatNamesItsNodes) {
  const TensorId r = relu(x_);
  const auto s = b_.add_node(ops_["add"], {}, {r, y_}, {f32({4})}, "the sum");
  b_.set_outputs(s);
  b_.replace_uses(x_, s[0]);
  const auto g = std::move(b_).finish();
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(g.error().message, HasSubstr("relu #0"));
  EXPECT_THAT(g.error().message, HasSubstr("add `the sum`"));
}

TEST_F(GraphTest, FindsConstantExpressions) {
  const TensorId c = b_.add_constant(constant({1, 2, 3, 4}));
  const TensorId folded = relu(c), mixed = add(folded, x_);
  const TensorId full = append(b_, ops_["full"], {}, {{"shape", Shape{4}}});
  const TensorId random = b_.add_node(ops_["opaque"], {}, {}, {f32({4})})[0];
  const TensorId custom = b_.add_node(ops_["opaque"], {}, {c}, {f32({4})})[0];
  const Graph g = finish({mixed, full, random, custom});
  EXPECT_TRUE(g.is_constant_expression(c));
  EXPECT_TRUE(g.is_constant_expression(folded));
  EXPECT_TRUE(g.is_constant_expression(g.tensor(folded).producer));
  EXPECT_FALSE(g.is_constant_expression(mixed));
  EXPECT_TRUE(g.is_constant_expression(full));
  EXPECT_FALSE(g.is_constant_expression(random));
  EXPECT_FALSE(g.is_constant_expression(custom));
}

TEST_F(GraphTest, ALongChainDoesNotUseTheStack) {
  TensorId at = x_;
  const int length = 200000;
  for (int i = 0; i < length; ++i) at = relu(at);
  EXPECT_EQ(finish({at}).order().size(), static_cast<std::size_t>(length));
}

}  // namespace
}  // namespace soapstone::core
