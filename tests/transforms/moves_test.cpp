// What is moved, cut and joined: which rules are made of it, and that each of them holds.
#include "transforms/layout_changes/moves.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/rules/rules_fixture.h"
#include "tests/support/made_rules.h"
#include "tests/transforms/holds.h"
#include "tests/transforms/moving_graphs.h"

namespace soapstone::transforms {
namespace {

using testing::IsEmpty;

class MoveRules : public testing::TestWithParam<MovingGraph> {
 protected:
  std::vector<RewriteSequence> plans() const {
    return find_moves(graph_of(moving_graph(GetParam())));
  }
};

TEST_P(MoveRules, AreMade) {
  std::string taken;
  for (const RewriteSequence& plan : plans())
    for (const RewriteStep& step : plan.steps) {
      const std::string name = rule_name(step.texts[0]);
      taken += (taken.empty() ? "" : " ") +
               name.substr(kMovesPrefix.size(), name.find('[') - kMovesPrefix.size());
    }
  EXPECT_EQ(taken, GetParam().operators);
  EXPECT_EQ(steps_without_rules(plans()), 0U);
}

TEST_P(MoveRules, HoldAndRoundAsTheySay) { expect_rules_hold(made_rules(plans()), 5); }

INSTANTIATE_TEST_SUITE_P(All, MoveRules, testing::ValuesIn(kMovingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

/// A chain of moves and of what is done between them.
class RandomMoves {
 public:
  explicit RandomMoves(unsigned seed) : random_(seed) {}

  std::string graph(int length) {
    shape_ = {1 + draw(2), 2 * (1 + draw(3)), 2, 3};
    std::string text = fmt::format("graph g\n  x: f32[{}]\n", fmt::join(shape_, ", "));
    for (int k = 0; k < length; ++k) text += step();
    return fmt::format("{}  y = exp({})\n  return y\n", text, name_);
  }

 private:
  std::size_t draw(std::size_t bound) { return random_() % bound; }
  std::string next() { return name_ = fmt::format("t{}", count_++); }

  std::string step() {
    const std::string from = name_;
    const std::size_t axis = draw(shape_.size());
    switch (draw(8)) {
    case 0:
      return fmt::format("  {} = relu({})\n", next(), from);
    case 1:
      return fmt::format("  {1} = softmax({0}; axis={2})\n", from, next(), axis);
    case 2:
      return joined(from, axis);
    case 3:
      return cut(from, axis);
    case 4:
      return fmt::format("  {1} = einsum({0}, {0}; equation=\"{2},{2}->{2}\")\n", from, next(),
                         std::string("abcdefghij").substr(0, shape_.size()));
    case 5:
      return reshaped(from);
    default:
      return transposed(from);
    }
  }
  std::string transposed(const std::string& from) {
    std::vector<std::size_t> order(shape_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::size_t> shape;
    for (const std::size_t d : order) shape.push_back(shape_[d]);
    shape_ = shape;
    return fmt::format("  {1} = transpose({0}; perm=[{2}])\n", from, next(),
                       fmt::join(order, ", "));
  }
  std::string reshaped(const std::string& from) {
    const std::size_t d = draw(shape_.size());
    if (draw(2) == 0 && d + 1 < shape_.size()) {
      shape_[d] *= shape_[d + 1];
      shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    } else if (shape_.size() < 6) {
      const std::size_t inner = shape_[d] % 2 == 0 ? 2 : 1;
      shape_[d] /= inner;
      shape_.insert(shape_.begin() + static_cast<std::ptrdiff_t>(d) + 1, inner);
    }
    return fmt::format("  {1} = reshape({0}; shape=[{2}])\n", from, next(),
                       fmt::join(shape_, ", "));
  }
  /// All parts along a dimension, put together along another one.
  std::string joined(const std::string& from, std::size_t axis) {
    const std::size_t to = draw(shape_.size());
    if (shape_[axis] % 2 != 0) return {};
    shape_[axis] /= 2;
    const std::string a = next(), b = next(), whole = next();
    const std::string text = fmt::format(
        "  {0}, {1} = split({2}; axis={3}, sizes=[{4}, {4}])\n  {5} = concat({0}, {1}; axis={6})\n",
        a, b, from, axis, shape_[axis], whole, to);
    shape_[to] *= 2;
    return text;
  }
  std::string cut(const std::string& from, std::size_t axis) {
    const std::size_t size = 1 + draw(shape_[axis]), start = draw(shape_[axis] - size + 1);
    shape_[axis] = size;
    return fmt::format("  {1} = slice({0}; axes=[{2}], starts=[{3}], sizes=[{4}], steps=[1])\n",
                       from, next(), axis, start, size);
  }

  std::mt19937 random_;
  std::vector<std::size_t> shape_;
  std::string name_ = "x";
  int count_ = 0;
};

TEST(Moves, OfRandomGraphsHold) {
  std::size_t rules = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const std::string text = RandomMoves(seed).graph(4 + static_cast<int>(seed) % 8);
    const auto plans = find_moves(graph_of(text));
    SCOPED_TRACE(text);
    const auto made = made_rules(plans);
    expect_rules_hold(made, 1);
    rules += made.size();
  }
  EXPECT_GT(rules, 500U);
}

TEST(Moves, AreLeftWhereNothingIsMoved) {
  EXPECT_THAT(find_moves(graph_of(R"(graph g
  x: f32[2, 3]
  w: f32[3, 4]
  a = matmul(x, w)
  y = softmax(a; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(Moves, OfUnevenPiecesAreLeft) {
  EXPECT_THAT(find_moves(graph_of(R"(graph g
  x: f32[2, 5]
  a, b = split(x; axis=1, sizes=[2, 3])
  y = concat(b, a; axis=1)
  return y
)")),
              IsEmpty());
}

TEST(Moves, OfEmptyTensorsAreLeft) {
  EXPECT_THAT(find_moves(graph_of(R"(graph g
  x: f32[4, 0, 3]
  a, b = split(x; axis=0, sizes=[2, 2])
  r = reshape(a; shape=[6, 0])
  y = relu(b)
  return r, y
)")),
              IsEmpty());
}

}  // namespace
}  // namespace soapstone::transforms
