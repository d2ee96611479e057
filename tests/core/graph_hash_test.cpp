// The structural hash and same_structure: what they must see, and what they must not.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/core/tiny_catalog.h"

namespace soapstone::core {
namespace {

class GraphHashTest : public testing::Test {
 protected:
  /// A graph over inputs x and y, whose outputs `body` makes.
  using Body = std::function<std::vector<TensorId>(GraphBuilder&, TensorId x, TensorId y)>;
  Graph make(const Body& body) const {
    GraphBuilder builder;
    const TensorId x = builder.add_input("x", f32({4}));
    const TensorId y = builder.add_input("y", f32({4}));
    builder.set_outputs(body(builder, x, y));
    return std::move(builder).finish().value();
  }
  void expect_differ(const Body& a, const Body& b) const {
    const Graph left = make(a), right = make(b);
    EXPECT_NE(left.hash(), right.hash());
    EXPECT_FALSE(same_structure(left, right));
  }
  void expect_same(const Graph& a, const Graph& b) const {
    EXPECT_EQ(a.hash(), b.hash());
    EXPECT_TRUE(same_structure(a, b));
  }
  Body unary(const std::string& op, const Attributes& attributes = {}) const {
    return [=, this](GraphBuilder& g, TensorId x, TensorId) {
      return std::vector{append(g, ops_[op], {x}, attributes)};
    };
  }

  TinyCatalog ops_;
};

TEST_F(GraphHashTest, NamesIdsAndOrderOfInsertionDoNotMatter) {
  const Graph a = make([&](GraphBuilder& g, TensorId x, TensorId y) {
    const TensorId l = append(g, ops_["relu"], {x}), r = append(g, ops_["window"], {y});
    return std::vector{append(g, ops_["sub"], {l, r})};
  });
  const Graph b = make([&](GraphBuilder& g, TensorId x, TensorId y) {
    append(g, ops_["add"], {x, x});  // dead
    const TensorId r = append(g, ops_["window"], {y}), l = append(g, ops_["relu"], {x});
    g.set_name(r, "r");
    g.set_name(x, "another name");
    return std::vector{append(g, ops_["sub"], {l, r})};
  });
  expect_same(a, b);
}

TEST_F(GraphHashTest, IsTheSameInEveryRun) {
  const Graph g = make(unary("relu"));
  EXPECT_EQ(g.hash(), 0x1db5b6477ca0ce5eu);  // changes only together with what is hashed
}

TEST_F(GraphHashTest, SeesTheOrderOfOperandsAndOutputs) {
  const auto minus = [&](bool swap) {
    return [&, swap](GraphBuilder& g, TensorId x, TensorId y) {
      return std::vector{append(g, ops_["sub"], {swap ? y : x, swap ? x : y})};
    };
  };
  expect_differ(minus(false), minus(true));
  const auto pass = [](bool swap) {
    return [swap](GraphBuilder&, TensorId x, TensorId y) {
      return swap ? std::vector{y, x} : std::vector{x, y};
    };
  };
  expect_differ(pass(false), pass(true));
}

TEST_F(GraphHashTest, SeesOperatorsAttributesAndConstants) {
  expect_differ(unary("relu"), unary("window"));
  expect_differ(unary("window"), unary("window", {{"alpha", 2.0}}));
  expect_differ(unary("window", {{"mode", "a"}}), unary("window", {{"mode", "b"}}));
  expect_differ(unary("window", {{"pads", Shape{1, 2}}}), unary("window", {{"pads", Shape{2, 1}}}));
  const auto plus = [&](float value) {
    return [&, value](GraphBuilder& g, TensorId x, TensorId) {
      return std::vector{append(g, ops_["add"], {x, g.add_constant(constant({value}))})};
    };
  };
  expect_differ(plus(1), plus(2));
  expect_same(make(plus(1)), make(plus(1)));
}

TEST_F(GraphHashTest, SeesInputsThatNobodyReadsAndWhichResultIsRead) {
  GraphBuilder a, b;
  a.set_outputs({a.add_input("x", f32({4}))});
  b.set_outputs({b.add_input("x", f32({4}))});
  b.add_input("unused", f32({4}));
  EXPECT_NE(std::move(a).finish().value().hash(), std::move(b).finish().value().hash());
  const auto half = [&](std::size_t which) {
    return [&, which](GraphBuilder& g, TensorId x, TensorId) {
      const TensorId first = append(g, ops_["split"], {x}, {{"axis", 0}, {"sizes", Shape{2, 2}}});
      return std::vector{g.node(g.tensor(first).producer).outputs[which]};
    };
  };
  expect_differ(half(0), half(1));
}

TEST_F(GraphHashTest, SeesOptionalInputsThatAreLeftOut) {
  const auto window = [&](bool second) {
    return [&, second](GraphBuilder& g, TensorId x, TensorId y) {
      const TensorId none = TensorId::none();
      return std::vector{append(g, ops_["window"], {x, second ? y : none, second ? none : y})};
    };
  };
  expect_differ(window(false), window(true));
}

TEST_F(GraphHashTest, ComputingTwiceIsNotSharing) {
  const auto shared = [&](bool share) {
    return [&, share](GraphBuilder& g, TensorId x, TensorId) {
      const TensorId a = append(g, ops_["relu"], {x});
      const TensorId b = share ? a : append(g, ops_["relu"], {x});
      return std::vector{append(g, ops_["sub"], {a, b})};
    };
  };
  expect_differ(shared(true), shared(false));
}

TEST_F(GraphHashTest, StructureTellsHowTwinsAreWired) {
  // Both compute f(x) twice and read each copy twice, but not by the same readers. They cost the
  // same, so their hashes may agree; the structure is another one.
  const auto wired = [&](bool cross) {
    return make([&, cross](GraphBuilder& g, TensorId x, TensorId y) {
      const TensorId a = append(g, ops_["relu"], {x}), b = append(g, ops_["relu"], {x});
      return std::vector{append(g, ops_["sub"], {a, y}), append(g, ops_["sub"], {b, y}),
                         append(g, ops_["add"], {cross ? b : a, y}),
                         append(g, ops_["add"], {cross ? a : b, y})};
    });
  };
  EXPECT_FALSE(same_structure(wired(false), wired(true)));
  expect_same(wired(true), wired(true));
}

TEST_F(GraphHashTest, RandomGraphsRarelyAgree) {
  std::vector<Graph> graphs;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed), again(seed);
    graphs.push_back(random_graph(ops_, random, 12));
    expect_same(graphs.back(), random_graph(ops_, again, 12));
  }
  for (const Graph& a : graphs) {
    for (const Graph& b : graphs) EXPECT_EQ(a.hash() == b.hash(), same_structure(a, b));
  }
}

}  // namespace
}  // namespace soapstone::core
