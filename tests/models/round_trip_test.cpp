// Reading what was written gives the same graph, in every opset, and ONNX's checker accepts it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

struct RoundTrip {
  const char* name;
  int first_opset, last_opset;
  const char* text;
};
void PrintTo(const RoundTrip& c, std::ostream* out) { *out << c.name; }

constexpr int kLast = 27;

const RoundTrip kRoundTrips[] = {
    {"conv", 7, kLast,
     "(float[1,4,8,8] x, float[6,2,3,3] w, float[6] b) => (float[1,6,4,4] y) {"
     " y = Conv<group = 2, pads = [1,1,1,1], strides = [2,2]>(x, w, b) }"},
    {"conv_same", 7, kLast,
     "(float[1,4,9,9] x, float[6,4,2,2] w) => (float[1,6,5,5] y) {"
     " y = Conv<auto_pad = \"SAME_UPPER\", strides = [2,2]>(x, w) }"},
    {"matmul", 7, kLast, "(float[2,3,4] x, float[4,5] w) => (float[2,3,5] y) { y = MatMul(x, w) }"},
    {"gemm", 7, kLast,
     "(float[4,3] x, float[5,4] w, float[5] b) => (float[3,5] y) {"
     " y = Gemm<alpha = 0.5, beta = 2.0, transA = 1, transB = 1>(x, w, b) }"},
    {"pools", 10, kLast,
     "(float[1,4,8,8] x) => (float[1,4,4,4] y, float[1,4,4,4] z, float[1,4,1,1] w) {"
     " y = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x)"
     " z = AveragePool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1], count_include_pad "
     "= 1>(x)"
     " w = GlobalAveragePool(x) }"},
    {"batch_norm", 9, kLast,
     "(float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v)"
     " => (float[2,3,4] y) { y = BatchNormalization<epsilon = 0.001>(x, s, b, m, v) }"},
    {"layer_norm", 17, kLast,
     "(float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) {"
     " y = LayerNormalization<axis = -1, epsilon = 0.001>(x, s, b) }"},
    {"softmax", 13, kLast,
     "(float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z) {"
     " y = Softmax<axis = 1>(x) z = LogSoftmax(x) }"},
    {"softmax_flat", 7, 12, "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1>(x) }"},
    {"unary", 13, kLast,
     "(float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Sigmoid(a) c = Tanh(b)"
     " d = Exp(c) e = Log(d) f = Sqrt(e) g1 = Neg(f) h = Abs(g1) i = Reciprocal(h) j = Erf(i)"
     " k = Floor(j) l = Ceil(k) m = Sin(l) n = Cos(m) o = Round(n) p = LeakyRelu<alpha = 0.2>(o)"
     " y = HardSigmoid(p) }"},
    {"hard_swish", 14, kLast, "(float[2,3] x) => (float[2,3] y) { y = HardSwish(x) }"},
    {"gelu", 20, kLast,
     "(float[2,3] x) => (float[2,3] y) { a = Gelu(x) y = Gelu<approximate = \"tanh\">(a) }"},
    {"clip", 11, kLast,
     "(float[2,3] x) => (float[2,3] y) <float low = {0}, float high = {6}> {"
     " a = Clip(x, low, high) y = Clip(a, low) }"},
    {"binary", 13, kLast,
     "(float[2,3] x, float[3] z) => (float[2,3] y) { a = Add(x, z) b = Sub(a, z)"
     " c = Mul(b, z) d = Div(c, z) e = Pow(d, z) f = Max(e, z) g1 = Min(f, z) k = Less(g1, z)"
     " y = Where(k, g1, z) }"},
    {"stable", 13, kLast,
     "(float[2,3] x, int64[2] t, float[3] s) => (float y, float z, float[2,3] w) {"
     " y = SoftmaxCrossEntropyLoss<ignore_index = 1>(x, t, s)"
     " z = NegativeLogLikelihoodLoss<reduction = \"sum\">(x, t) w = Softplus(x) }"},
    {"log_sum_exp", 7, 17,
     "(float[2,3] x) => (float[2,1] y) { y = ReduceLogSumExp<axes = [1]>(x) }"},
    {"or_equal", 12, kLast,
     "(float[2,3] x, float[3] z) => (bool[2,3] y, bool[2,3] w) {"
     " y = LessOrEqual(x, z) w = GreaterOrEqual(x, z) }"},
    {"compare", 13, kLast,
     "(float[2,3] x, float[3] z) => (bool[2,3] y, bool[2,3] w) {"
     " y = Greater(x, z) a = Equal(x, z) w = Not(a) }"},
    {"cast", 13, kLast,
     "(float[2,3] x) => (float[2,3] y) { a = Cast<to = 10>(x) y = Cast<to = 1>(a) }"},
    {"concat", 7, kLast,
     "(float[2,3] x, float[2,4] z) => (float[2,7] y) { y = Concat<axis = -1>(x, z) }"},
    {"split", 13, 17,
     "(float[2,6] x) => (float[2,2] y, float[2,4] z) <int64[2] s = {2, 4}> {"
     " y, z = Split<axis = 1>(x, s) }"},
    {"split_18", 18, kLast,
     "(float[2,6] x) => (float[2,4] y, float[2,2] z) {"
     " y, z = Split<axis = 1>(x, s) s = Constant<value = int64[2] {4, 2}>() }"},
    {"split_attribute", 7, 12,
     "(float[2,6] x) => (float[2,2] y, float[2,4] z) {"
     " y, z = Split<axis = 1, split = [2, 4]>(x) }"},
    {"slice", 10, kLast,
     "(float[8,6] x) => (float[4,6] y) { y = Slice(x, s, e, a, t)"
     " s = Constant<value = int64[1] {-1}>() e = Constant<value = int64[1] {-9}>()"
     " a = Constant<value = int64[1] {0}>() t = Constant<value = int64[1] {-2}>() }"},
    {"pad", 11, kLast,
     "(float[2,6] x) => (float[4,7] y) <int64[4] p = {1, 0, 1, 1}> { y = Pad(x, p) }"},
    {"transpose", 7, kLast,
     "(float[2,3,4] x) => (float[4,2,3] y) { y = Transpose<perm = [2, 0, 1]>(x) }"},
    {"views", 13, kLast,
     "(float[2,3,4] x) => (float[2,12] y, float[2,3,1,4] z, float[6,4] w)"
     " <int64[2] s = {0, -1}, int64[1] a = {2}> {"
     " y = Flatten(x) z = Unsqueeze(x, a) q = Squeeze(z, a) w = Reshape(q, r)"
     " r = Constant<value = int64[2] {-1, 4}>() }"},
    {"views_attributes", 7, 12,
     "(float[2,3,4] x) => (float[2,3,1,4] z, float[2,3,4] w) {"
     " z = Unsqueeze<axes = [2]>(x) w = Squeeze<axes = [2]>(z) }"},
    {"expand", 8, kLast,
     "(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 3, 4}> { y = Expand(x, s) }"},
    {"gather", 11, kLast,
     "(float[5,3] x) => (float[2,3] y) <int64[2] i = {4, 0}> { y = Gather(x, i) }"},
    {"gather_one", 13, kLast,
     "(float[5,3,2] x) => (float[5,2] y, float[5,1,2] z) <int64 i = {-1}, int64[1] j = {1}> {"
     " y = Gather<axis = 1>(x, i) z = Gather<axis = 1>(x, j) }"},
    {"reduce", 18, kLast,
     "(float[2,3,4] x) => (float[2,1,4] y, float[2] z) <int64[1] a = {1}, int64[2] b = {1, 2}> {"
     " y = ReduceMean(x, a) c = ReduceMax<keepdims = 0>(x, b) z = Identity(c) }"},
    {"reduce_attributes", 7, 17,
     "(float[2,3,4] x) => (float[2,1,4] y, float[2] z) {"
     " y = ReduceMean<axes = [1]>(x) z = ReduceMax<axes = [1, 2], keepdims = 0>(x) }"},
    {"reduce_sum", 13, kLast,
     "(float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {1}> { y = ReduceSum(x, a) }"},
    {"constant_of_shape", 9, kLast,
     "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 3}> {"
     " c = ConstantOfShape<value = float[1] {3.0}>(s) y = Add(x, c) }"},
    {"dropout", 13, kLast, "(float[2,3] x) => (float[2,3] y) { a = Dropout(x) y = Relu(a) }"},
    {"space", 13, kLast,
     "(float[1,8,4,4] x) => (float[1,8,4,4] y) {"
     " a = DepthToSpace<blocksize = 2>(x) y = SpaceToDepth<blocksize = 2>(a) }"},
    {"tile", 13, kLast,
     "(float[2,3] x) => (float[4,3] y) <int64[2] r = {2, 1}> { y = Tile(x, r) }"},
};

/// Operators and attributes of the nodes, but for those that only pass on what they read or hold
/// constants.
std::vector<std::string> nodes(const std::string& bytes) {
  std::vector<std::string> texts;
  const onnx::ModelProto model = parse_proto(bytes);
  for (const auto& node : model.graph().node()) {
    const std::string& op = node.op_type();
    if (op == "Constant" || op == "Dropout" || op == "Identity") continue;
    texts.push_back(op);
    for (const auto& attribute : node.attribute()) texts.back() += attribute.ShortDebugString();
  }
  return texts;
}

class RoundTripTest : public ::testing::TestWithParam<RoundTrip> {};

TEST_P(RoundTripTest, EveryOpset) {
  const RoundTrip& c = GetParam();
  for (int opset = c.first_opset; opset <= c.last_opset; ++opset) {
    SCOPED_TRACE(opset);
    const std::string text =
        fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {}", opset, c.text);
    const auto model = read_text(text);
    EXPECT_TRUE(model.opaque_nodes.empty()) << model.opaque_nodes[0].reason;
    EXPECT_EQ(model.opset, opset);
    for (const std::string& bytes : {write_checked(model), write_mapped(model)}) {
      const auto again = parse_onnx(bytes);
      ASSERT_TRUE(again.ok()) << again.error().to_string();
      EXPECT_EQ(again->graph.hash(), model.graph.hash()) << operators(again->graph);
      EXPECT_TRUE(same_structure(again->graph, model.graph));
      const std::string twice = write_mapped(*again);
      EXPECT_EQ(operators(parse_onnx(twice)->graph), operators(model.graph));
    }
    EXPECT_EQ(nodes(write_checked(model)), nodes(bytes_from_text(text)));
  }
}
INSTANTIATE_TEST_SUITE_P(All, RoundTripTest, ::testing::ValuesIn(kRoundTrips),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace soapstone::models
