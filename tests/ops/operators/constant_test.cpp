// `full`, `eye`, and the ONNX operators that produce constants.
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_types.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::DataType;
using core::Literal;
using core::LiteralPtr;
using ::testing::ElementsAre;

TEST(Full, HasOneValueEverywhere) {
  expect_near(run(graph_of("", "full(; shape=[2, 2], value=-0.25)"), {})[0], Values(4, -0.25));
  const core::Graph graph = graph_of("", "full(; shape=[2], value=1.0)");
  EXPECT_TRUE(graph.is_constant_expression(graph.outputs()[0]));
}

TEST(Full, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"full.value", "", "full(; shape=[2], value=1e-40)"},
      {"full.shape", "", "full(; shape=[-1], value=1.0)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

TEST(Eye, IsTheUnitOfProducts) {
  const core::Graph graph = graph_of("", "eye(; shape=[2, 3])");
  EXPECT_EQ(run(graph, {})[0], (Values{1, 0, 0, 0, 1, 0}));
  EXPECT_TRUE(graph.is_constant_expression(graph.outputs()[0]));
  const Values x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const core::Graph conv =
      graph_of("x: f32[1, 2, 2, 3]  w: f32[2, 2, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])");
  const Values kernel = run(graph_of("", "eye(; shape=[2, 2, 3, 3])"), {})[0];
  EXPECT_EQ(run(conv, {x, kernel})[0], x);
}

TEST(Eye, HasTheEarlierOfTwoCenters) {
  EXPECT_EQ(run(graph_of("", "eye(; shape=[1, 1, 4])"), {})[0], (Values{0, 1, 0, 0}));
  EXPECT_EQ(run(graph_of("", "eye(; shape=[1, 1, 2, 2])"), {})[0], (Values{1, 0, 0, 0}));
  EXPECT_TRUE(run(graph_of("", "eye(; shape=[2, 2, 0])"), {})[0].empty());
}

TEST(Eye, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"eye.rank", "", "eye(; shape=[2])"},
      {"eye.shape", "", "eye(; shape=[2, -1])"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

core::Result<core::Graph> read(OnnxNode node, std::map<std::string, Literal> constants = {}) {
  OnnxGraph onnx;
  node.outputs = {"y"};
  onnx.constants = std::move(constants);
  onnx.nodes = {std::move(node)};
  onnx.outputs = {"y"};
  return read_onnx(onnx);
}

core::Graph constant_of_shape(std::optional<Literal> value) {
  const std::int64_t dims[] = {2, 2};
  OnnxNode node{"ConstantOfShape", "", {"shape"}, {}, {}};
  if (value) node.attributes.emplace_back("value", std::make_shared<const Literal>(*value));
  return read(std::move(node), {{"shape", Literal::ints({2}, dims)}}).value();
}

TEST(ConstantOfShape, IsFullOrAConstant) {
  const core::Graph zeros = constant_of_shape(std::nullopt);
  EXPECT_EQ(zeros.node(zeros.order()[0]).op->name, "full");
  expect_near(run(zeros, {})[0], Values(4, 0));
  const std::int64_t seven[] = {7};
  const core::Graph ints = constant_of_shape(Literal::ints({1}, seven));
  EXPECT_TRUE(ints.order().empty());
  EXPECT_EQ(*ints.tensor(ints.outputs()[0]).value->to_ints(), std::vector<std::int64_t>(4, 7));
}

Values eye_like(std::int64_t k, DataType type = DataType::kFloat32) {
  OnnxNode node{"EyeLike", "", {"x"}, {}, {{"k", k}}};
  if (type != DataType::kFloat32) node.attributes.emplace_back("dtype", to_onnx_type(type));
  const std::int64_t elements[] = {1, 2, 3, 4, 5, 6};
  std::map<std::string, Literal> constants;
  constants.emplace("x", type == DataType::kFloat32 ? filled_literal(type, {2, 3}, 7)
                                                    : Literal::ints({2, 3}, elements));
  const core::Graph graph = read(std::move(node), std::move(constants)).value();
  EXPECT_EQ(graph.tensor(graph.outputs()[0]).type.data_type, type);
  return run(graph, {})[0];
}

TEST(EyeLike, HasADiagonal) {
  EXPECT_EQ(eye_like(0), (Values{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye_like(1), (Values{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye_like(2), (Values{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(eye_like(-1), (Values{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(eye_like(5), Values(6, 0));
  EXPECT_EQ(eye_like(-2), Values(6, 0));
  EXPECT_EQ(eye_like(0, DataType::kBool), (Values{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye_like(1, DataType::kInt64), (Values{0, 1, 0, 0, 0, 1}));
}

TEST(FilledLiteral, RoundsToEveryType) {
  for (DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
        DataType::kInt64, DataType::kInt32, DataType::kInt16, DataType::kInt8, DataType::kUInt64,
        DataType::kUInt32, DataType::kUInt16, DataType::kUInt8}) {
    SCOPED_TRACE(core::to_string(type));
    EXPECT_THAT(filled_literal(type, {2}, 3).to_doubles(), ElementsAre(3, 3));
  }
  EXPECT_THAT(filled_literal(DataType::kBool, {1}, 3).to_doubles(), ElementsAre(1));
  EXPECT_THAT(filled_literal(DataType::kInt8, {1}, -3).to_doubles(), ElementsAre(-3));
}

}  // namespace
}  // namespace soapstone::ops::test
