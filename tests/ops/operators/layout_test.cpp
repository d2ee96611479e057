// transpose, reshape, expand, gather: where elements go, and what ONNX's forms of them mean.
#include <limits>

#include "ops/onnx/onnx_writing.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kI64 = core::DataType::kInt64;

TEST(Transpose, MovesDimensions) {
  const core::Graph graph = graph_of("x: f32[2, 3]", "transpose(x; perm=[1, 0])");
  expect_near(run(graph, {counting(6)})[0], {0, 3, 1, 4, 2, 5});
}

TEST(Reshape, KeepsTheOrder) {
  const core::Graph graph = graph_of("x: f32[2, 3]", "reshape(x; shape=[3, 1, 2])");
  expect_near(run(graph, {counting(6)})[0], counting(6));
}

TEST(Reshape, InfersSymbolicSizes) {
  core::SymbolTable names;
  const Polynomial m = names.intern("m"), n = names.intern("n"), k = names.intern("k");
  const auto fits = infer_symbolically("reshape", {{"shape", std::vector<Polynomial>{m * n, 2}}},
                                       {{m, 2, n}}, names);
  EXPECT_THAT(fits.constraints, Each(HasSubstr("reshape.shape")));
  const auto guarded =
      infer_symbolically("reshape", {{"shape", std::vector<Polynomial>{k}}}, {{m, n}}, names);
  EXPECT_THAT(guarded.constraints, Contains("reshape.element_count: m*n - k = 0"));
}

TEST(Expand, RepeatsOnes) {
  const core::Graph graph = graph_of("x: f32[2, 1]", "expand(x; shape=[2, 2, 3])");
  expect_near(run(graph, {{5, 6}})[0], {5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6});
}

TEST(TopK, IsReadFromEveryForm) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {2, 3}}}};
  onnx.constants.emplace("k", core::Literal::ints({1}, Ints{2}));
  onnx.nodes = {
      {"TopK", "", {"x", "k"}, {"v", "i"}, {{"largest", std::int64_t{0}}}},
      {"ArgMax", "", {"x"}, {"a"}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}}},
      {"ArgMin", "", {"x"}, {"b"}, {}}};
  onnx.outputs = {"v", "i", "a", "b"};
  const auto graph = read_onnx(onnx);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto results = run(*graph, {{5, 1, 5, 2, 3, 2}});
  EXPECT_THAT(results[0], ElementsAre(1, 5, 2, 2));
  EXPECT_THAT(results[1], ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(results[2], ElementsAre(0, 1));
  EXPECT_THAT(results[3], ElementsAre(1, 0, 1));
}

TEST(TopK, TakesTheFirstOfEqualOnesFirst) {
  const double inf = std::numeric_limits<double>::infinity();
  const Values x{2, -inf, 2, 0, inf, -0.0, 2, inf};
  const core::Graph falling = graph_of("x: f32[4, 2]", "top_k(x; axis=0, leading=4)", 2);
  EXPECT_THAT(run(falling, {x})[0], ElementsAre(inf, inf, 2, 0, 2, 0, 2, -inf));
  EXPECT_THAT(run(falling, {x})[1], ElementsAre(2, 3, 0, 1, 1, 2, 3, 0));
  const core::Graph rising =
      graph_of("x: f32[4, 2]", "top_k(x; axis=0, leading=3, descending=0)", 2);
  EXPECT_THAT(run(rising, {x})[1], ElementsAre(0, 0, 1, 1, 3, 2));
}

TEST(TopK, TakesWhatIsNoNumberForTheGreatest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const core::Graph falling = graph_of("x: f32[3]", "top_k(x; axis=0, leading=2)", 2);
  EXPECT_THAT(run(falling, {{1, nan, 2}})[1], ElementsAre(1, 2));
  const core::Graph rising = graph_of("x: f32[3]", "top_k(x; axis=0, leading=2, descending=0)", 2);
  EXPECT_THAT(run(rising, {{nan, 1, nan}})[1], ElementsAre(1, 0));
}

TEST(TopK, LeavesTheLastOfEqualOnes) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {3}}}};
  onnx.nodes = {{"ArgMax", "", {"x"}, {"y"}, {{"select_last_index", std::int64_t{1}}}}};
  onnx.outputs = {"y"};
  const auto graph = read_onnx(onnx);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported);
}

TEST(Gather, SelectsAlongAnAxis) {
  const core::Graph graph = graph_of("x: f32[2, 3]  i: i64[2]", "gather(x, i; axis=1)");
  expect_near(run(graph, {counting(6), {2, 0}})[0], {2, 0, 5, 3});
}

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  const core::Graph graph = graph_of("x: f32[3]  i: i64[4]", "gather(x, i; axis=0)");
  expect_near(run(graph, {{7, 8, 9}, {-1, 2, -3, 0}})[0], {9, 9, 7, 7});
}

TEST(Gather, RefusesIndicesOutOfRange) {
  const core::Graph graph = graph_of("x: f32[3]  i: i64[2]", "gather(x, i; axis=0)");
  for (const double index : {3.0, -4.0, 9e9}) {
    const auto result = evaluate_graph<double>(graph, std::vector<Values>{{7, 8, 9}, {0, index}});
    ASSERT_FALSE(result.ok()) << index;
    EXPECT_EQ(result.error().code, core::ErrorCode::kInvalidInput);
    EXPECT_THAT(result.error().message, ::testing::HasSubstr("at [1] is not in [-3, 3)"));
  }
  const std::vector<Field::Value> x{7, 8, 9};
  for (const Field::Value index : {Field::Value{3}, Field::kPrime - 4})
    EXPECT_FALSE(
        evaluate_graph<Field::Value>(graph, std::vector<std::vector<Field::Value>>{x, {0, index}})
            .ok());
}

TEST(Gather, OfInfinitiesTouchesNoOtherElement) {
  const double infinity = std::numeric_limits<double>::infinity();
  const core::Graph graph = graph_of("x: f32[3, 1]  i: i64[2]", "gather(x, i; axis=0)");
  EXPECT_EQ(run(graph, {{infinity, 1, infinity}, {1, -1}})[0], (Values{1, infinity}));
}

TEST(Layout, RefusesWhatDoesNotFit) {
  const char* x = "x: f32[2, 3]";
  const Refusal refusals[] = {
      {"transpose.perm", x, "transpose(x; perm=[0])"},
      {"transpose.perm", x, "transpose(x; perm=[0, 0])"},
      {"transpose.concrete", "x: f32[2, n]", "transpose(x; perm=[n, 0])"},
      {"reshape.element_count", x, "reshape(x; shape=[5])"},
      {"reshape.shape", x, "reshape(x; shape=[-2, -3])"},
      {"expand.broadcast", x, "expand(x; shape=[2, 4])"},
      {"expand.broadcast", x, "expand(x; shape=[3])"},
      {"expand.shape", "x: f32[1]", "expand(x; shape=[-1])"},
      {"gather.index_type", "x: f32[2]  i: f32[1]", "gather(x, i; axis=0)"},
      {"gather.axis", "x: f32[2]  i: i64[1]", "gather(x, i; axis=1)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

/// A node that reads x and lists of integers, with the shape of its result.
core::Result<core::Graph> read(std::string op_type, core::Shape x, const std::vector<Ints>& lists,
                               OnnxAttributes attributes = {}, int opset = 17) {
  OnnxGraph onnx;
  onnx.opset = opset;
  onnx.inputs = {{"x", {kF32, std::move(x)}}};
  OnnxNode node{std::move(op_type), "", {"x"}, {"y"}, std::move(attributes)};
  for (const Ints& list : lists) {
    node.inputs.push_back("list" + std::to_string(node.inputs.size()));
    onnx.constants.emplace(node.inputs.back(), ints(list));
  }
  onnx.nodes = {std::move(node)};
  onnx.outputs = {"y"};
  return read_onnx(onnx);
}

Dims dims_of(const core::Result<core::Graph>& graph) {
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return *core::concrete(graph->tensor(graph->outputs()[0]).type.shape);
}

TEST(Reshape, ReadsZerosAndTheRest) {
  EXPECT_THAT(dims_of(read("Reshape", {2, 3, 4}, {{0, -1}})), ElementsAre(2, 12));
  EXPECT_THAT(dims_of(read("Reshape", {0, 3}, {{3, 0}}, {{"allowzero", std::int64_t{1}}})),
              ElementsAre(3, 0));
  EXPECT_FALSE(read("Reshape", {2, 3}, {{-1, -1}}).ok());
  EXPECT_FALSE(read("Reshape", {2, 3}, {{4, -1}}).ok());
  EXPECT_FALSE(read("Reshape", {2}, {{1, 0}}).ok());
  EXPECT_TRUE(read("Reshape", {2, 3}, {{2, 3}})->order().empty());
}

TEST(Reshape, NeedsToKnowTheShape) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {4}}}, {"s", {kI64, {2}}}};
  onnx.nodes = {{"Reshape", "", {"x", "s"}, {"y"}, {}}};
  onnx.outputs = {"y"};
  const auto graph = read_onnx(onnx);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported);
}

TEST(Reshape, WritesAZeroOnlyWhereItCanBeSaid) {
  const core::Graph graph = graph_of("x: f32[0, 3]", "reshape(x; shape=[3, 0])");
  EXPECT_TRUE(write_onnx(graph, 14).ok());
  // Before `allowzero`, a 0 in the shape means the size that is there already: no elements are
  // written as a constant.
  const auto older = write_onnx(graph, 13);
  ASSERT_TRUE(older.ok());
  ASSERT_EQ(older->nodes.size(), 1U);
  EXPECT_EQ(older->nodes[0].op_type, "Constant");
}

TEST(Expand, InputMayStretchTheShape) {
  EXPECT_THAT(dims_of(read("Expand", {3, 1}, {{2, 1, 6}})), ElementsAre(2, 3, 6));
  EXPECT_THAT(dims_of(read("Expand", {2, 3}, {{3}})), ElementsAre(2, 3));
  EXPECT_TRUE(read("Expand", {2, 3}, {{1, 1}})->order().empty());
}

TEST(Composite, ReshapesOfOnnx) {
  EXPECT_THAT(dims_of(read("Flatten", {2, 3, 4}, {})), ElementsAre(2, 12));
  EXPECT_THAT(dims_of(read("Flatten", {2, 3, 4}, {}, {{"axis", std::int64_t{0}}})),
              ElementsAre(1, 24));
  EXPECT_THAT(dims_of(read("Flatten", {2, 3, 4}, {}, {{"axis", std::int64_t{-1}}})),
              ElementsAre(6, 4));
  EXPECT_THAT(dims_of(read("Squeeze", {1, 3, 1}, {})), ElementsAre(3));
  EXPECT_THAT(dims_of(read("Squeeze", {1, 3, 1}, {{-1}})), ElementsAre(1, 3));
  EXPECT_THAT(dims_of(read("Squeeze", {1, 3, 1}, {}, {{"axes", Ints{0}}}, 11)), ElementsAre(3, 1));
  EXPECT_FALSE(read("Squeeze", {1, 3}, {{1}}).ok());
  EXPECT_THAT(dims_of(read("Unsqueeze", {3}, {{-1, 0}})), ElementsAre(1, 3, 1));
  EXPECT_THAT(dims_of(read("Unsqueeze", {3}, {}, {{"axes", Ints{1}}}, 11)), ElementsAre(3, 1));
}

TEST(Composite, TileRepeats) {
  const core::Graph graph = read("Tile", {2, 1}, {{2, 3}}).value();
  expect_near(run(graph, {{1, 2}})[0], {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  EXPECT_TRUE(read("Tile", {2, 1}, {{1, 1}})->order().empty());
}

TEST(Composite, DepthAndSpace) {
  const OnnxAttribute two = std::int64_t{2};
  const core::Shape deep{1, 8, 1, 1}, wide{1, 1, 2, 4};
  const auto depth_first = read("DepthToSpace", deep, {}, {{"blocksize", two}});
  expect_near(run(*depth_first, {counting(8)})[0], {0, 2, 4, 6, 1, 3, 5, 7});
  const auto columns_first =
      read("DepthToSpace", deep, {}, {{"blocksize", two}, {"mode", std::string("CRD")}});
  expect_near(run(*columns_first, {counting(8)})[0], counting(8));
  const auto back = read("SpaceToDepth", wide, {}, {{"blocksize", two}});
  expect_near(run(*back, {counting(8)})[0], {0, 2, 1, 3, 4, 6, 5, 7});
}

core::Graph read_gather(std::optional<Ints> constant) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {3}}}};
  if (constant)
    onnx.constants.emplace("i", ints(*constant));
  else
    onnx.inputs.push_back({"i", {kI64, {2}}});
  onnx.nodes = {{"Gather", "", {"x", "i"}, {"y"}, {{"axis", std::int64_t{-1}}}}};
  onnx.outputs = {"y"};
  return read_onnx(onnx).value();
}

TEST(Gather, IsReadAndWrittenAsItIs) {
  for (const auto& indices : {std::optional<Ints>(Ints{-1, 0}), std::optional<Ints>()}) {
    const core::Graph graph = read_gather(indices);
    ASSERT_EQ(graph.order().size(), 1u);
    const auto onnx = write_onnx(graph, 17);
    ASSERT_EQ(onnx->nodes.size(), 1u);
    EXPECT_EQ(onnx->nodes[0].op_type, "Gather");
  }
}

TEST(Gather, ReadsNegativeIndices) {
  const core::Graph known = read_gather(Ints{-1, 0});
  expect_near(run(known, {{7, 8, 9}})[0], {9, 7});
  expect_near(run(read_gather(std::nullopt), {{7, 8, 9}, {-1, 0}})[0], {9, 7});
}

TEST(Dropout, PassesEverythingAtInference) {
  EXPECT_TRUE(read("Dropout", {2}, {})->order().empty());
  OnnxGraph onnx;
  onnx.inputs = {{"x", {kF32, {2}}}};
  onnx.nodes = {{"Dropout", "", {"x"}, {"y", "mask"}, {}}};
  onnx.outputs = {"y", "mask"};
  const auto both = run(read_onnx(onnx).value(), {{3, 4}});
  expect_near(both[0], {3, 4});
  expect_near(both[1], {1, 1});
  const std::byte yes[] = {std::byte{1}};
  onnx.constants.emplace("training", core::Literal::copy(core::DataType::kBool, {}, yes));
  onnx.nodes[0].inputs = {"x", "", "training"};
  EXPECT_FALSE(read_onnx(onnx).ok());
}

}  // namespace
}  // namespace soapstone::ops::test
