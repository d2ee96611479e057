// ONNX operators that are read as a few of ours: what their results are, and which nodes are
// refused. What ONNX Runtime makes of NaN and infinities is what is expected here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/ops/composites/read_nodes.h"

namespace soapstone::ops::test {
namespace {

using core::DataType;
using core::ErrorCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<std::string> operators_read(const core::Graph& graph) {
  std::vector<std::string> names;
  for (const core::NodeId id : graph.order()) names.push_back(graph.node(id).op->name);
  return names;
}

Values elementwise_result(const Node& node, const Values& x, DataType type = kF32) {
  return result_of(node, {{{type, {static_cast<std::int64_t>(x.size())}}}}, {x});
}

// --- Functions of single elements ---------------------------------------------------------------

TEST(OnnxActivation, SeluAndCelu) {
  const double selu = 1.0507010 * 1.6732632 * (std::exp(-1) - 1);
  expect_near(elementwise_result({"Selu", 6}, {-1, 0, 2}), {selu, 0, 2.1014020}, 1e-6);
  expect_near(elementwise_result({"Selu", 22, {{"alpha", 2.0f}, {"gamma", 3.0f}}}, {-1, 1}),
              {6 * (std::exp(-1) - 1), 3});
  expect_near(elementwise_result({"Celu", 12}, {-1, 3}), {std::exp(-1) - 1, 3});
  expect_near(elementwise_result({"Celu", 12, {{"alpha", 2.0f}}}, {-2, 3, 0}),
              {2 * (std::exp(-1) - 1), 3, 0});
  const auto special =
      elementwise_result({"Celu", 12, {{"alpha", 2.0f}}}, {-kInfinite, kInfinite, kNaN});
  EXPECT_EQ(special[0], -2);
  EXPECT_EQ(special[1], kInfinite);
  EXPECT_TRUE(std::isnan(special[2]));
  expect_error(ErrorCode::kUnsupported, {"Celu", 12, {{"alpha", -1.0f}}}, {reals({2})});
}

TEST(OnnxActivation, SoftsignAndSwish) {
  expect_near(elementwise_result({"Softsign", 13}, {-3, 0, 1}), {-0.75, 0, 0.5});
  EXPECT_TRUE(std::isnan(elementwise_result({"Softsign", 13}, {kInfinite})[0]));
  expect_near(elementwise_result({"Swish", 24}, {-1, 0}), {-1 / (1 + std::exp(1)), 0});
  expect_near(elementwise_result({"Swish", 24, {{"alpha", 2.0f}}}, {1}), {1 / (1 + std::exp(-2))});
  EXPECT_FALSE(read_node({"Swish", 23}, {reals({2})}).ok());
}

TEST(OnnxActivation, WhatLiesWithinAThresholdIsZero) {
  const Node node{"ThresholdedRelu", 10, {{"alpha", 0.5f}}};
  expect_near(elementwise_result(node, {-1, 0.5, 0.75, kNaN}), {0, 0, 0.75, 0});
  const Node shifted{"Shrink", 9, {{"lambd", 0.5f}, {"bias", 0.25f}}};
  expect_near(elementwise_result(shifted, {-1, -0.5, 0, 0.5, 2, kNaN}), {-0.75, 0, 0, 0, 1.75, 0});
  expect_near(elementwise_result({"Shrink", 9}, {-1, 0.25, 2, kNaN}), {-1, 0, 2, 0});
  expect_near(elementwise_result({"Shrink", 9, {{"lambd", -1.0f}}}, {-3, 0, 3}), {-3, 0, 3});
}

TEST(OnnxActivation, SignOfNaN) {
  const Values signs = elementwise_result({"Sign", 13}, {-3, 0, 4, kNaN});
  expect_near(Values(signs.begin(), signs.end() - 1), {-1, 0, 1});
  EXPECT_TRUE(std::isnan(signs.back()));
  expect_near(elementwise_result({"Sign", 13}, {-3, 0, 4, kNaN}, DataType::kFloat16),
              {-1, 0, 1, 0});
  expect_near(elementwise_result({"Sign", 13}, {-7, 0, 9}, DataType::kInt64), {-1, 0, 1});
  expect_error(ErrorCode::kUnsupported, {"Sign", 13}, {{{DataType::kUInt8, {2}}}});
}

TEST(OnnxActivation, PReluOfManySlopes) {
  expect_near(
      result_of({"PRelu", 16}, {reals({2, 2, 1}), reals({2, 1})}, {{-1, -2, 3, -4}, {10, 20}}),
      {-10, -40, 3, -80});
  // No slope of what is not negative.
  EXPECT_EQ(result_of({"PRelu", 16}, {reals({2}), reals({2})}, {{0, 1}, {kInfinite, kNaN}}),
            (Values{0, 1}));
  expect_error(ErrorCode::kUnsupported, {"PRelu", 8}, {reals({2, 2, 1}), reals({2, 1})});
  expect_error(ErrorCode::kInvalidInput, {"PRelu", 16}, {reals({2, 3}), reals({2})});
  expect_error(ErrorCode::kInvalidInput, {"PRelu", 16}, {reals({3}), reals({1, 3})});
  expect_error(ErrorCode::kInvalidInput, {"PRelu", 16}, {reals({3})});
  const Fed slope{{kF32, {1}}, core::Literal::floats({1}, std::vector{0.5f})};
  EXPECT_THAT(operators_read(read_node({"PRelu", 16}, {reals({3}), slope}).value()),
              ElementsAre("leaky_relu"));
}

// --- Normalization ------------------------------------------------------------------------------

TEST(LpNormalization, KeepsZeros) {
  expect_near(result_of({"LpNormalization", 9, {{"axis", std::int64_t{0}}}}, {reals({2, 2})},
                        {{3, 0, -4, 0}}),
              {0.6, 0, -0.8, 0});
  expect_near(result_of({"LpNormalization", 22, {{"p", std::int64_t{1}}}}, {reals({2, 2})},
                        {{1, -3, 0, 0}}),
              {0.25, -0.75, 0, 0});
  expect_error(ErrorCode::kInvalidInput, {"LpNormalization", 22, {{"p", std::int64_t{3}}}},
               {reals({2, 2})});
  expect_error(ErrorCode::kInvalidInput, {"LpNormalization", 22, {{"axis", std::int64_t{2}}}},
               {reals({2, 2})});
}

TEST(MeanVarianceNormalization, NormalizesOverItsAxes) {
  expect_near(result_of({"MeanVarianceNormalization", 13, {{"axes", Ints{-1}}}}, {reals({2, 2})},
                        {{1, 3, 5, 5.5}}),
              {-1, 1, -1, 1});
  // All but the channels.
  expect_near(result_of({"MeanVarianceNormalization", 9}, {reals({2, 2, 1, 1})}, {{1, 5, 3, 5.5}}),
              {-1, -1, 1, 1});
  expect_error(ErrorCode::kInvalidInput, {"MeanVarianceNormalization", 13}, {reals({2, 3, 4})});
}

// --- GatherND -----------------------------------------------------------------------------------

struct GatherExample {
  Dims data, indices;
  Ints values;
  std::int64_t batch;
  Values expected;
};

TEST(GatherNd, SelectsByTuples) {
  const GatherExample examples[] = {
      {{2, 3}, {2, 2}, {0, -1, 1, 0}, 0, {2, 3}},
      {{2, 3}, {2, 1}, {1, -2}, 0, {3, 4, 5, 0, 1, 2}},
      {{2, 3}, {2}, {-1, 1}, 0, {4}},
      {{2, 2, 2}, {1, 2}, {1, 0}, 0, {4, 5}},
      {{2, 3}, {2, 1}, {2, 0}, 1, {2, 3}},
      {{2, 2, 2}, {2, 1}, {1, 0}, 1, {2, 3, 4, 5}},
      {{2, 2, 2}, {2, 1, 2}, {1, 0, 0, -1}, 1, {2, 5}},
      {{2, 2, 2}, {2, 2, 1}, {1, 0, -1, -2}, 2, {1, 2, 5, 6}},
  };
  for (const GatherExample& e : examples) {
    const Node node{"GatherND", 12, {{"batch_dims", e.batch}}};
    const Values x = counting(static_cast<std::size_t>(core::element_count(e.data)));
    const Fed data = reals(core::to_shape(e.data));
    expect_near(result_of(node, {data, indices_of(core::to_shape(e.indices))},
                          {x, Values(e.values.begin(), e.values.end())}),
                e.expected);
    expect_near(result_of(node, {data, known_indices(e.indices, e.values)}, {x}), e.expected);
  }
}

TEST(GatherNd, RefusesCoordinatesOutOfRange) {
  const core::Graph graph =
      read_node({"GatherND", 13}, {reals({2, 3}), indices_of({1, 2})}).value();
  EXPECT_TRUE(evaluate_graph<double>(graph, std::vector<Values>{counting(6), {1, -3}}).ok());
  // Their positions in the flattened data would be those of other elements.
  for (const Values& at : {Values{0, 3}, Values{1, -4}, Values{-3, 0}})
    EXPECT_FALSE(evaluate_graph<double>(graph, std::vector<Values>{counting(6), at}).ok());
  expect_error(ErrorCode::kInvalidInput, {"GatherND", 13},
               {reals({2, 3}), known_indices({1, 2}, {0, 3})});
}

TEST(GatherNd, RefusesWhatDoesNotFit) {
  const auto with_batches = [](std::int64_t count) {
    return Node{"GatherND", 13, {{"batch_dims", count}}};
  };
  expect_error(ErrorCode::kInvalidInput, with_batches(0), {reals({2, 3}), indices_of({1, 3})});
  expect_error(ErrorCode::kInvalidInput, with_batches(0), {reals({2, 3}), indices_of({1, 0})});
  expect_error(ErrorCode::kInvalidInput, with_batches(1), {reals({2, 3}), indices_of({3, 1})});
  expect_error(ErrorCode::kInvalidInput, with_batches(2), {reals({2, 3}), indices_of({2, 1})});
  expect_error(ErrorCode::kInvalidInput, with_batches(-1), {reals({2, 3}), indices_of({2, 1})});
  expect_error(ErrorCode::kInvalidInput, with_batches(0), {reals({2, 3})});
}

// --- ScatterND, ScatterElements -----------------------------------------------------------------

struct ScatterExample {
  Dims data, indices;
  Ints values;
  Dims updates;
  Values expected;  ///< Of data 0, 1, … and updates 10, 11, ….
};

void expect_scattered(const Node& node, const ScatterExample& e, bool gathers) {
  const auto count = [](const Dims& dims) {
    return static_cast<std::size_t>(core::element_count(dims));
  };
  const auto graph =
      read_node(node, {reals(core::to_shape(e.data)), known_indices(e.indices, e.values),
                       reals(core::to_shape(e.updates))});
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  expect_near(run(*graph, {counting(count(e.data)), counting(count(e.updates), 10)})[0],
              e.expected);
  const std::vector<std::string> names = operators_read(*graph);
  EXPECT_EQ(std::ranges::count(names, "gather") > 0, gathers);
}

TEST(ScatterNd, PutsRangesBetweenSlices) {
  const Node node{"ScatterND", 16};
  // x[:, 1:3] = y, x[1:, :2] = y, x[-1] = y, x[:] = y
  expect_scattered(
      node, {{2, 4}, {2, 2, 2}, {0, 1, 0, 2, 1, 1, 1, 2}, {2, 2}, {0, 10, 11, 3, 4, 12, 13, 7}},
      false);
  expect_scattered(node,
                   {{3, 3}, {4, 2}, {1, 0, 1, 1, 2, 0, 2, 1}, {4}, {0, 1, 2, 10, 11, 5, 12, 13, 8}},
                   false);
  expect_scattered(node, {{2, 2}, {1, 1}, {-1}, {1, 2}, {0, 1, 10, 11}}, false);
  expect_scattered(node, {{2, 2}, {1}, {-1}, {2}, {0, 1, 10, 11}}, false);
  expect_scattered(node, {{2, 2}, {2, 1}, {0, 1}, {2, 2}, {10, 11, 12, 13}}, false);
}

TEST(ScatterNd, GathersFromDataAndUpdates) {
  const Node node{"ScatterND", 11};
  expect_scattered(node, {{3, 2}, {2, 1}, {2, 0}, {2, 2}, {12, 13, 2, 3, 10, 11}}, true);
  expect_scattered(node, {{2, 2}, {2, 2}, {0, 0, 1, -1}, {2}, {10, 1, 2, 11}}, true);
  // x[::2, 1:] = y
  expect_scattered(
      node, {{3, 3}, {4, 2}, {0, 1, 0, 2, 2, 1, 2, 2}, {4}, {0, 10, 11, 3, 4, 5, 6, 12, 13}}, true);
}

TEST(ScatterNd, LeavesTheRestOpaque) {
  const Fed data = reals({3, 2}), updates = reals({2, 2});
  const Fed rows = known_indices({2, 1}, {2, 0}), twice = known_indices({2, 1}, {2, -1});
  expect_error(ErrorCode::kUnsupported, {"ScatterND", 16}, {data, twice, updates});
  expect_error(ErrorCode::kUnsupported, {"ScatterND", 16}, {data, indices_of({2, 1}), updates});
  expect_error(ErrorCode::kUnsupported, {"ScatterND", 16, {{"reduction", std::string("add")}}},
               {data, rows, updates});
  expect_error(ErrorCode::kInvalidInput, {"ScatterND", 16},
               {data, known_indices({2, 1}, {3, 0}), updates});
  expect_error(ErrorCode::kInvalidInput, {"ScatterND", 16}, {data, rows, reals({2, 1})});
  expect_error(ErrorCode::kInvalidInput, {"ScatterND", 16},
               {data, known_indices({1, 3}, {0, 0, 0}), reals({1})});
  expect_error(ErrorCode::kInvalidInput, {"ScatterND", 16},
               {data, rows, {{DataType::kInt64, {2, 2}}}});
  EXPECT_THAT(
      operators_read(
          read_node({"ScatterND", 16}, {data, known_indices({0, 1}, {}), reals({0, 2})}).value()),
      IsEmpty());
}

TEST(ScatterElements, ReplacesAlongAnAxis) {
  const Node second{"ScatterElements", 13, {{"axis", std::int64_t{-1}}}};
  expect_scattered(second, {{2, 3}, {2, 1}, {1, 2}, {2, 1}, {0, 10, 2, 3, 4, 11}}, true);
  expect_scattered(second, {{2, 3}, {2, 2}, {1, 2, 1, -1}, {2, 2}, {0, 10, 11, 3, 12, 13}}, false);
  for (const Node& first : {Node{"ScatterElements", 18}, Node{"Scatter", 9}})
    expect_scattered(first, {{2, 3}, {1, 3}, {0, -1, 0}, {1, 3}, {10, 1, 12, 3, 11, 5}}, true);
  EXPECT_FALSE(read_node({"Scatter", 11}, {reals({2}), known_indices({1}, {0}), reals({1})}).ok());
}

TEST(ScatterElements, LeavesTheRestOpaque) {
  const Node node{"ScatterElements", 18};
  expect_error(ErrorCode::kUnsupported, node,
               {reals({3}), known_indices({2}, {1, -2}), reals({2})});
  expect_error(ErrorCode::kUnsupported, node, {reals({3}), indices_of({2}), reals({2})});
  expect_error(ErrorCode::kInvalidInput, node, {reals({3}), known_indices({1}, {3}), reals({1})});
  expect_error(ErrorCode::kInvalidInput, node, {reals({3}), known_indices({1}, {0}), reals({2})});
  expect_error(ErrorCode::kInvalidInput, node,
               {reals({3, 1}), known_indices({1, 2}, {0, 0}), reals({1, 2})});
}

// --- Trilu, OneHot ------------------------------------------------------------------------------

TEST(Trilu, KeepsOneSideOfADiagonal) {
  const auto part = [](std::int64_t diagonal, std::int64_t upper) {
    return result_of({"Trilu", 14, {{"upper", upper}}},
                     {reals({2, 3}), known_indices({}, {diagonal})}, {{1, 2, 3, 4, 5, 6}});
  };
  expect_near(part(1, 1), {0, 2, 3, 0, 0, 6});
  expect_near(part(0, 0), {1, 0, 0, 4, 5, 0});
  expect_near(part(-9, 1), {1, 2, 3, 4, 5, 6});
  expect_near(part(9, 1), {0, 0, 0, 0, 0, 0});
  expect_near(result_of({"Trilu", 14}, {reals({1, 2, 2})}, {{1, 2, kNaN, 4}}), {1, 2, 0, 4});
  expect_error(ErrorCode::kUnsupported, {"Trilu", 14}, {reals({2, 2}), indices_of({})});
  expect_error(ErrorCode::kInvalidInput, {"Trilu", 14}, {reals({2})});
}

TEST(Trilu, OfAKnownMatrixIsKnown) {
  const Fed known{{kF32, {2, 2}}, core::Literal::floats({2, 2}, std::vector<float>{1, 2, 3, 4})};
  const auto graph = read_node({"Trilu", 14, {{"upper", std::int64_t{0}}}}, {known});
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(operators_read(*graph), IsEmpty());
  expect_near(run(*graph, {})[0], {1, 0, 3, 4});
}

TEST(OneHot, ComparesWithPositions) {
  const Fed values{{kF32, {2}}, core::Literal::floats({2}, std::vector<float>{-1, 5})};
  const auto rows = [&](std::int64_t axis) {
    return result_of({"OneHot", 11, {{"axis", axis}}},
                     {indices_of({4}), known_indices({1}, {3}), values}, {{0, -1, 3, -4}});
  };
  expect_near(rows(-1), {5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1});
  expect_near(rows(0), {5, -1, -1, -1, -1, -1, -1, -1, -1, 5, -1, -1});
  const Node node{"OneHot", 11};
  expect_error(ErrorCode::kUnsupported, node, {indices_of({4}), indices_of({1}), values});
  expect_error(ErrorCode::kInvalidInput, node,
               {indices_of({4}), known_indices({1}, {3}), reals({3})});
}

// --- RotaryEmbedding ----------------------------------------------------------------------------

Node rotary(std::vector<std::pair<std::string, OnnxAttribute>> attributes = {}) {
  return {"RotaryEmbedding", 23, std::move(attributes)};
}

TEST(RotaryEmbedding, RotatesPairs) {
  const std::vector<Fed> inputs{reals({1, 1, 1, 4}), reals({1, 1, 2}), reals({1, 1, 2})};
  const std::vector<Values> values{{1, 2, 3, 4}, {10, 20}, {1, 2}};
  expect_near(result_of(rotary(), inputs, values), {7, 32, 31, 84});
  expect_near(result_of(rotary({{"interleaved", std::int64_t{1}}}), inputs, values),
              {8, 21, 52, 86});
}

TEST(RotaryEmbedding, RotatesTheFirstElementsOfAHead) {
  for (const std::int64_t interleaved : {0, 1})
    expect_near(
        result_of(rotary({{"rotary_embedding_dim", std::int64_t{2}}, {"interleaved", interleaved}}),
                  {reals({1, 1, 1, 4}), reals({1, 1, 1}), reals({1, 1, 1})},
                  {{1, 2, 3, 4}, {10}, {1}}),
        {8, 21, 3, 4});
}

TEST(RotaryEmbedding, LooksPositionsUp) {
  const Node node = rotary({{"num_heads", std::int64_t{2}}});
  expect_near(result_of(node, {reals({1, 2, 4}), reals({3, 1}), reals({3, 1}), indices_of({1, 2})},
                        {counting(8, 1), {1, 2, 3}, {0, 10, 20}, {2, 0}}),
              {-37, 26, -71, 72, 5, 6, 7, 8});
}

TEST(RotaryEmbedding, HeadsMayComeFirst) {
  // Heads of one element pair at two positions: each position has its angle.
  expect_near(result_of(rotary(), {reals({1, 2, 2, 2}), reals({1, 2, 1}), reals({1, 2, 1})},
                        {counting(8, 1), {3, 1}, {20, 0}}),
              {-37, 26, 3, 4, -105, 118, 7, 8});
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  const Fed x = reals({1, 1, 1, 4}), half = reals({1, 1, 2});
  expect_error(ErrorCode::kInvalidInput, rotary(), {x, half});
  expect_error(ErrorCode::kInvalidInput, rotary(), {x, half, reals({1, 1, 1})});
  expect_error(ErrorCode::kInvalidInput, rotary({{"rotary_embedding_dim", std::int64_t{3}}}),
               {x, half, half});
  expect_error(ErrorCode::kInvalidInput, rotary(), {reals({1, 1, 4}), half, half});
  expect_error(ErrorCode::kUnsupported, rotary(), {reals({2, 1, 1, 4}), half, half});
}

}  // namespace
}  // namespace soapstone::ops::test
