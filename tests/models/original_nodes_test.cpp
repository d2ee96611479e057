// A node that nothing changed is written as it was read, whatever our operators make of it; one
// that something did change is written by their mappings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "models/onnx/open_sizes.h"
#include "ops/definition/registry.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using core::TensorId;
using ::testing::ElementsAre;

OnnxModel read_body(const std::string& text, int opset = 17) {
  return read_text(fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {}", opset, text));
}

onnx::NodeProto only_node(const std::string& bytes) {
  const auto model = parse_proto(bytes);
  EXPECT_EQ(model.graph().node_size(), 1) << op_types(model);
  return model.graph().node(0);
}

struct Case {
  const char* name;
  int opset;
  const char* text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Each is one ONNX node and several of ours, or one that says less.
const Case kCases[] = {
    {"gather", 17, "(float[5,3] x, int64[2] i) => (float[2,3] y) { [\"n\"] y = Gather(x, i) }"},
    {"instance_norm", 17,
     "(float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {1, 2, 3}, float[3] b = {1, 1, 1}> {"
     " [\"n\"] y = InstanceNormalization<epsilon = 0.001>(x, s, b) }"},
    {"tile", 17,
     "(float[2,3] x) => (float[4,3] y) <int64[2] r = {2, 1}> { [\"n\"] y = Tile(x, r) }"},
    {"depth_to_space", 17,
     "(float[1,8,4,4] x) => (float[1,2,8,8] y) { [\"n\"] y = DepthToSpace<blocksize = 2>(x) }"},
    {"gemm", 17,
     "(float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {0, 0}> {"
     " [\"n\"] y = Gemm<alpha = 0.5, transB = 1>(x, w, b) }"},
    {"gemm_with_names", 17,
     "(float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 0, 0, 1}, float[2] b = {1, 1}> {"
     " [\"n\"] y = Gemm(x, w, b) }"},
    {"square", 17, "(float[2] x) => (float[2] y) <float two = {2}> { [\"n\"] y = Pow(x, two) }"},
    {"clip", 17,
     "(float[2] x) => (float[2] y) <float l = {0}, float h = {6}> { [\"n\"] y = Clip(x, l, h) }"},
    {"clip_of_old", 8, "(float[2] x) => (float[2] y) { [\"n\"] y = Clip<min = 0.0>(x) }"},
    {"sum", 17,
     "(float[2] x, float[2] u, float[2] v) => (float[2] y) { [\"n\"] y = Sum(x, u, v) }"},
    {"softmax_of_old", 11,
     "(float[2,3,4] x) => (float[2,3,4] y) { [\"n\"] y = Softmax<axis = 1>(x) }"},
    {"same_padding", 17,
     "(float[1,1,5,5] x, float[1,1,2,2] w) => (float[1,1,5,5] y) {"
     " [\"n\"] y = Conv<auto_pad = \"SAME_UPPER\">(x, w) }"},
    {"squeeze", 17,
     "(float[2,1,3] x) => (float[2,3] y) <int64[1] a = {-2}> { [\"n\"] y = Squeeze(x, a) }"},
    {"reshape", 17,
     "(float[2,3] x) => (float[6] y) <int64[1] s = {-1}> { [\"n\"] y = Reshape(x, s) }"},
    {"mean", 17, "(float[2] x, float[2] u) => (float[2] y) { [\"n\"] y = Mean(x, u) }"},
    {"cast_like", 17, "(float[2] x, double[1] t) => (double[2] y) { [\"n\"] y = CastLike(x, t) }"},
    {"split", 17, "(float[4] x) => (float[2] y, float[2] z) { [\"n\"] y, z = Split(x) }"},
};

class AsRead : public ::testing::TestWithParam<Case> {};

TEST_P(AsRead, IsByteForByteTheNode) {
  const std::string text = fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {}",
                                       GetParam().opset, GetParam().text);
  auto original = model_from_text(text);
  original.mutable_graph()->mutable_node(0)->clear_domain();  // the text format says that it is ""
  const auto model = read_text(text);
  EXPECT_EQ(only_node(write_checked(model)).DebugString(), original.graph().node(0).DebugString());
  // Its constants are there too.
  const auto again = parse_onnx(write_checked(model));
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(same_structure(again->graph, model.graph));
}
INSTANTIATE_TEST_SUITE_P(All, AsRead, ::testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });

constexpr const char* kGemm =
    "(float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {5, 6}> {"
    " t = Relu(x) y = Gemm<alpha = 0.5, transB = 1>(t, w, b) }";

TensorId result_of(const core::Graph& graph, const std::string& op) {
  for (core::NodeId id : graph.order())
    if (graph.node(id).op->name == op) return graph.node(id).outputs[0];
  return TensorId::none();
}

std::string types_after(const OnnxModel& model, core::GraphBuilder builder) {
  const auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph.ok());
  return op_types(parse_proto(write_checked(*graph, *model.header)));
}

TEST(OriginalNodes, AnotherOperandIsStillTheNode) {
  const auto model = read_body(kGemm);
  core::GraphBuilder builder(model.graph);
  const auto other = ops::append(builder, "neg", {model.graph.inputs()[0]});
  builder.replace_uses(result_of(model.graph, "relu"), (*other)[0]);
  EXPECT_EQ(types_after(model, std::move(builder)), "Neg Gemm");
}

TEST(OriginalNodes, OtherWeightsAreNot) {
  const auto model = read_body(kGemm);
  core::GraphBuilder builder(model.graph);
  const TensorId matmul = result_of(model.graph, "matmul");
  const TensorId weights = model.graph.node(model.graph.tensor(matmul).producer).inputs[1];
  const TensorId other = builder.add_constant(std::make_shared<const core::Literal>(
      core::Literal::floats({2, 2}, std::vector{1.F, 2.F, 3.F, 5.F})));
  builder.replace_uses(weights, other);
  EXPECT_EQ(types_after(model, std::move(builder)), "Relu MatMul Add");
}

TEST(OriginalNodes, APartThatChangedIsNot) {
  const auto model = read_body(kGemm);
  core::GraphBuilder builder(model.graph);
  const TensorId matmul = result_of(model.graph, "matmul");
  const auto relu = ops::append(builder, "relu", {matmul});
  const core::NodeId add = model.graph.tensor(result_of(model.graph, "add")).producer;
  const auto sum = ops::append(builder, "add", {(*relu)[0], model.graph.node(add).inputs[1]});
  builder.replace_uses(model.graph.node(add).outputs[0], (*sum)[0]);
  EXPECT_EQ(types_after(model, std::move(builder)), "Relu Transpose Mul MatMul Relu Add");
}

TEST(OriginalNodes, AnInnerResultThatIsReadElsewhereIsComputedBesides) {
  const auto model = read_body(
      "(float[4] x, int64[2] i) => (float[2] y, bool[2] z) { y = Mean(x0, x1) x0 = Gather(x, i)"
      " x1 = Exp(x0) z = Less(x0, x1) }");
  core::GraphBuilder builder(model.graph);
  // The sum inside the Mean takes the place of the second result's first operand.
  const core::NodeId less = model.graph.tensor(model.graph.outputs()[1]).producer;
  const TensorId sum = result_of(model.graph, "add");
  const auto other = ops::append(builder, "less", {sum, model.graph.node(less).inputs[1]});
  builder.replace_uses(model.graph.outputs()[1], (*other)[0]);
  EXPECT_EQ(types_after(model, std::move(builder)), "Gather Exp Add Mean Less");
}

TEST(OriginalNodes, ConstantsInsideStayUnfolded) {
  const auto model = read_body(kGemm);
  std::vector<std::string> kept;
  for (core::NodeId id : constants_within_originals(model.graph, *model.header))
    kept.push_back(model.graph.node(id).op->name);
  EXPECT_THAT(kept, ElementsAre("transpose", "mul"));
  const auto whole = read_body("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> {"
                               " a = Exp(w) y = Add(x, a) }");
  EXPECT_TRUE(constants_within_originals(whole.graph, *whole.header).empty());
}

TEST(OriginalNodes, NodesOfATakenBranchAndOfAFunctionAreTheirs) {
  const auto branch = read_body(R"((float[2,1,4] x) => (float[2,4] y) {
      c = Constant<value = bool[1] {1}>()
      y = If(c) <then_branch = t () => (float[2,4] a) { i = Constant<value = int64[1] {-2}>() a = Squeeze(x, i) },
                 else_branch = e () => (float[2,4] b) { i = Constant<value = int64[1] {1}>() b = Squeeze(x, i) }> })");
  EXPECT_EQ(op_types(parse_proto(write_checked(branch))), "Squeeze");
  const auto function = read_text(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
      g (float[2] x) => (float[2] y) { y = my.twice(x) }
      <domain: "my", opset_import: ["" : 17]> twice (p) => (q) { q = Sum(p, p, p) })");
  EXPECT_EQ(op_types(parse_proto(write_checked(function))), "Sum");
}

TEST(OriginalNodes, AreNotKeptOnRequest) {
  EXPECT_EQ(op_types(parse_proto(write_mapped(read_body(kGemm)))), "Relu Transpose Mul MatMul Add");
}

// --- Open sizes
// -----------------------------------------------------------------------------------

constexpr const char* kOpen = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n, 3, s] x, float[?, 3] z) => (float[n, 3, s] y, float[m] w)
  <int64[1] flat = {-1}> {
    y = Relu(x)
    w = Reshape(z, flat)
  })";

OnnxModel read_open(std::int64_t n, std::int64_t s, std::int64_t rows) {
  return read_text(kOpen, {{{"n", {n}}, {"s", {s}}, {"z", {rows, 3}}}, false});
}

TEST(OpenSizes, AreFoundAndGiven) {
  const auto model = read_open(2, 4, 5);
  const auto open = open_dimensions(model);
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[0].text(), "n");
  EXPECT_EQ(open[1].size, 4);
  EXPECT_EQ(open[2].text(), "dimension 0 of z");
  const auto shapes = shapes_at(model, open, std::vector<std::int64_t>{7, 8, 9});
  EXPECT_EQ(shapes.at("x"), (core::Dims{7, 3, 8}));
  EXPECT_EQ(shapes.at("z"), (core::Dims{9, 3}));
}

onnx::ModelProto written(const OpenExport& file) {
  const TemporaryFolder directory;
  EXPECT_TRUE(file.write(directory / "m.onnx").ok());
  return parse_proto(read_file(directory / "m.onnx"));
}

TEST(OpenSizes, StayOpenWhereTheFilesAreTheSame) {
  const auto model = read_open(2, 4, 5), other = read_open(3, 4, 6);
  auto file = OpenExport::begin(model.graph, *model.header);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->add(other.graph, *other.header).ok());
  const auto result = written(*file);
  EXPECT_EQ(result.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  EXPECT_EQ(result.graph().input(0).type().tensor_type().shape().dim(2).dim_value(), 4);
  EXPECT_FALSE(result.graph().input(1).type().tensor_type().shape().dim(0).has_dim_value());
  EXPECT_EQ(result.graph().output(1).type().tensor_type().shape().dim(0).dim_param(), "m");
}

/// The model with its second result as a list of that length, by our own mappings.
core::Graph flattened(const OnnxModel& model, std::vector<core::Polynomial> shape) {
  core::GraphBuilder builder(model.graph);
  const auto neg = ops::append(builder, "neg", {model.graph.inputs()[1]});
  const auto flat = ops::append(builder, "reshape", {(*neg)[0]}, {{"shape", std::move(shape)}});
  builder.set_outputs({model.graph.outputs()[0], (*flat)[0]});
  return *std::move(builder).finish();
}

core::Size count_of(const OnnxModel& model) {
  return model.graph.tensor(model.graph.outputs()[1]).type.shape[0];
}

TEST(OpenSizes, AReshapeInfersTheSizeInWhichTheFilesDiffer) {
  const auto model = read_open(2, 4, 5), other = read_open(2, 4, 6);
  auto file = OpenExport::begin(flattened(model, {count_of(model)}), *model.header);
  ASSERT_TRUE(file.ok());
  const auto same = file->add(flattened(other, {count_of(other)}), *other.header);
  ASSERT_TRUE(same.ok()) << same.error().to_string();
  const auto result = written(*file);
  const auto shape = std::ranges::find(result.graph().initializer(),
                                       result.graph().node(result.graph().node_size() - 1).input(1),
                                       &onnx::TensorProto::name);
  ASSERT_NE(shape, result.graph().initializer().end());
  std::int64_t size = 0;
  ASSERT_EQ(shape->raw_data().size(), sizeof size);
  std::memcpy(&size, shape->raw_data().data(), sizeof size);
  EXPECT_EQ(size, -1);
}

TEST(OpenSizes, AreDeclaredWhereTheOperatorsDiffer) {
  const auto model = read_open(2, 4, 5), other = read_open(2, 4, 6);
  auto file = OpenExport::begin(flattened(model, {count_of(model)}), *model.header);
  ASSERT_TRUE(file.ok());
  const auto same = file->add(other.graph, *other.header);
  ASSERT_FALSE(same.ok());
  EXPECT_NE(same.error().to_string().find("at other sizes"), std::string::npos);
}

}  // namespace
}  // namespace soapstone::models
