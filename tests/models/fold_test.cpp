// Arithmetic on shapes disappears when a model is read.
#include <gtest/gtest.h>

#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

constexpr const char* kFoldHead = R"(<ir_version: 8, opset_import: ["" : 17]> g )";

/// The integers that `body` computes as `r` from x, f32[2,3,4], or "not folded".
std::string folded(const std::string& body) {
  const auto model =
      read_text(std::string(kFoldHead) + "(float[2,3,4] x) => (int64[k] r) {" + body + "}");
  const core::LiteralPtr& value = model.graph.tensor(model.graph.outputs()[0]).value;
  if (!value) return "not folded";
  std::string text = core::to_string(value->dims()) + " {";
  const auto ints = value->to_ints();
  if (!ints) return "not integers";
  for (std::int64_t i : *ints) text += (text.back() == '{' ? "" : ", ") + std::to_string(i);
  return text + "}";
}

std::string constants(const std::string& a, const std::string& b, const std::string& op) {
  return folded("a = Constant<value = int64" + a + ">() b = Constant<value = int64" + b +
                ">() r = " + op);
}

std::string constant(const std::string& a, const std::string& op) {
  return folded("a = Constant<value = " + a + ">() r = " + op);
}

TEST(Fold, Shapes) {
  EXPECT_EQ(folded("r = Shape(x)"), "[3] {2, 3, 4}");
  EXPECT_EQ(folded("r = Shape<start = 1>(x)"), "[2] {3, 4}");
  EXPECT_EQ(folded("r = Shape<start = -2, end = -1>(x)"), "[1] {3}");
  EXPECT_EQ(folded("r = Shape<start = 2, end = 1>(x)"), "[0] {}");
  EXPECT_EQ(folded("r = Shape<start = -2, end = 9223372036854775807>(x)"), "[2] {3, 4}");
  EXPECT_EQ(folded("r = Size(x)"), "[] {24}");
}

TEST(Fold, Arithmetic) {
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Add(a, b)"), "[2] {9, -5}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Sub(a, b)"), "[2] {5, -9}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Mul(a, b)"), "[2] {14, -14}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Div(a, b)"), "[2] {3, -3}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Mod(a, b)"), "[2] {1, 1}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Mod<fmod = 1>(a, b)"), "[2] {1, -1}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Max(a, b)"), "[2] {7, 2}");
  EXPECT_EQ(constants("[2] {7, -7}", "[1] {2}", "Min(a, b)"), "[2] {2, -7}");
  EXPECT_EQ(constant("int64[2] {7, -7}", "Neg(a)"), "[2] {-7, 7}");
  EXPECT_EQ(constant("int64[2] {7, -7}", "Abs(a)"), "[2] {7, 7}");
  EXPECT_EQ(constants("[2] {-7, 7}", "[1] {-2}", "Div(a, b)"), "[2] {3, -3}");
  EXPECT_EQ(constants("[2] {-7, 7}", "[1] {-2}", "Mod(a, b)"), "[2] {-1, -1}");
  EXPECT_EQ(constants("[1] {9223372036854775807}", "[1] {3}", "Div(a, b)"),
            "[1] {3074457345618258602}");
  EXPECT_EQ(constants("[2,1] {1, 2}", "[3] {10, 20, 30}", "Add(a, b)"),
            "[2, 3] {11, 21, 31, 12, 22, 32}");
}

TEST(Fold, WhatIsUndefinedIsNotFolded) {
  EXPECT_EQ(constants("[1] {7}", "[1] {0}", "Div(a, b)"), "not folded");
  EXPECT_EQ(constants("[1] {7}", "[1] {0}", "Mod(a, b)"), "not folded");
  EXPECT_EQ(constants("[1] {9223372036854775807}", "[1] {1}", "Add(a, b)"), "not folded");
  EXPECT_EQ(constants("[1] {4611686018427387904}", "[1] {2}", "Mul(a, b)"), "not folded");
}

TEST(Fold, WhatRoundsOrDoesNotFitIsNotFolded) {
  EXPECT_EQ(constant("int64[1] {2147483648}", "Cast<to = 6>(a)"), "not folded");
  EXPECT_EQ(constant("int64[1] {2147483647}", "Cast<to = 6>(a)"), "[1] {2147483647}");
  EXPECT_EQ(constant("float[2] {1.5, -1.5}", "Cast<to = 7>(a)"), "[2] {1, -1}");
  EXPECT_EQ(constant("float[1] {1e20}", "Cast<to = 7>(a)"), "not folded");
  // Sizes go through doubles and back, to feed a shape: 2^63 − 1 is no double.
  const auto through_doubles = [](const std::string& value) {
    return folded("a = Constant<value = int64[1] {" + value +
                  "}>() b = Cast<to = 11>(a) r = Cast<to = 7>(b) q = Trilu(x, r)");
  };
  EXPECT_EQ(through_doubles("16777217"), "[1] {16777217}");
  EXPECT_EQ(through_doubles("9223372036854775807"), "not folded");
}

TEST(Fold, NarrowIntegersThatFit) {
  const auto sum = [](const std::string& type) {
    return folded("a = Constant<value = " + type + "[1] {100}>() b = Constant<value = " + type +
                  "[1] {28}>() c = Add(a, b) r = Cast<to = 7>(c)");
  };
  EXPECT_EQ(sum("uint8"), "[1] {128}");
  EXPECT_EQ(sum("int8"), "not folded");
  EXPECT_EQ(constant("bool[2,2] {0, 1, 0, 0}",
                     "Cast<to = 7>(b) b = ReduceMax<axes = [1], keepdims = 0>(a)"),
            "[2] {1, 0}");
}

/// An operator with a meaning for known values alone has no reader: else there would be two
/// meanings.
TEST(Fold, OperatorsOfKnownValuesAreOpaqueAtRunTime) {
  const auto read = [](const std::string& body) {
    return operators(read_text(std::string(kFoldHead) +
                               "(int64[2,2] x, int64 n, float z) => (int64[a,b] r) {" + body + "}")
                         .graph);
  };
  EXPECT_EQ(read("r = Div(x, x)"), "opaque:Div");
  EXPECT_EQ(read("r = Mod(x, x)"), "opaque:Mod");
  EXPECT_EQ(read("r = ReduceProd(x)"), "opaque:ReduceProd");
  EXPECT_EQ(read("r = Trilu(x, n)"), "opaque:Trilu");
  EXPECT_EQ(read("r = Range(n, n, n)"), "opaque:Range");
  EXPECT_EQ(read("r = NonZero(x)"), "opaque:NonZero");
}

TEST(Fold, Comparison) {
  const auto compare = [](const std::string& op) {
    return folded("a = Constant<value = int64[3] {1, 2, 3}>() b = Constant<value = int64[1] {2}>()"
                  " c = " +
                  op + "(a, b) r = Cast<to = 7>(c)");
  };
  EXPECT_EQ(compare("Less"), "[3] {1, 0, 0}");
  EXPECT_EQ(compare("LessOrEqual"), "[3] {1, 1, 0}");
  EXPECT_EQ(compare("Greater"), "[3] {0, 0, 1}");
  EXPECT_EQ(compare("GreaterOrEqual"), "[3] {0, 1, 1}");
  EXPECT_EQ(compare("Equal"), "[3] {0, 1, 0}");
  EXPECT_EQ(folded("a = Constant<value = bool[2] {1, 0}>() b = Not(a) c = And(a, b) d = Or(a, b)"
                   " e = Where(d, p, q) p = Constant<value = int64[1] {5}>()"
                   " q = Constant<value = int64[1] {6}>() z = Cast<to = 7>(c) r = Add(e, z)"),
            "[2] {5, 5}");
}

TEST(Fold, Layout) {
  EXPECT_EQ(constants("[2,2] {1, 2, 3, 4}", "[1] {-1}", "Gather<axis = 1>(a, b)"), "[2, 1] {2, 4}");
  EXPECT_EQ(constants("[2] {1, 2}", "[1] {3}", "Concat<axis = 0>(a, b)"), "[3] {1, 2, 3}");
  EXPECT_EQ(constants("[2] {1, 2}", "[2] {0, 2}", "Unsqueeze(a, b)"), "[1, 2, 1] {1, 2}");
  EXPECT_EQ(constants("[1,2,1] {1, 2}", "[1] {-1}", "Squeeze(a, b)"), "[1, 2] {1, 2}");
  EXPECT_EQ(constant("int64[1,2,1] {1, 2}", "Squeeze(a)"), "[2] {1, 2}");
  EXPECT_EQ(constants("[2,2] {1, 2, 3, 4}", "[2] {0, -1}", "Reshape(a, b)"), "[2, 2] {1, 2, 3, 4}");
  EXPECT_EQ(constant("int64[2,2] {1, 2, 3, 4}", "Flatten<axis = 0>(a)"), "[1, 4] {1, 2, 3, 4}");
  EXPECT_EQ(constant("int64[2,2] {1, 2, 3, 4}", "Transpose(a)"), "[2, 2] {1, 3, 2, 4}");
  EXPECT_EQ(constants("[2,1] {1, 2}", "[3] {1, 1, 2}", "Expand(a, b)"), "[1, 2, 2] {1, 1, 2, 2}");
  EXPECT_EQ(constants("[2] {1, 2}", "[1] {2}", "Tile(a, b)"), "[4] {1, 2, 1, 2}");
  EXPECT_EQ(folded("a = Constant<value = int64[5] {1, 2, 3, 4, 5}>()"
                   " s = Constant<value = int64[2] {2, 3}>() b, r = Split(a, s)"),
            "[3] {3, 4, 5}");
}

TEST(Fold, Slices) {
  const auto slice = [](const std::string& start, const std::string& end, const std::string& step) {
    return folded("a = Constant<value = int64[5] {0, 1, 2, 3, 4}>()"
                  " s = Constant<value = int64[1] {" +
                  start +
                  "}>()"
                  " e = Constant<value = int64[1] {" +
                  end +
                  "}>()"
                  " x0 = Constant<value = int64[1] {0}>()"
                  " t = Constant<value = int64[1] {" +
                  step + "}>() r = Slice(a, s, e, x0, t)");
  };
  EXPECT_EQ(slice("1", "3", "1"), "[2] {1, 2}");
  EXPECT_EQ(slice("-2", "9223372036854775807", "1"), "[2] {3, 4}");
  EXPECT_EQ(slice("0", "5", "2"), "[3] {0, 2, 4}");
  EXPECT_EQ(slice("4", "-9223372036854775807", "-1"), "[5] {4, 3, 2, 1, 0}");
  EXPECT_EQ(slice("-1", "0", "-3"), "[2] {4, 1}");
  EXPECT_EQ(slice("3", "1", "1"), "[0] {}");
  EXPECT_EQ(slice("-100", "100", "1"), "[5] {0, 1, 2, 3, 4}");
}

TEST(Fold, Creation) {
  EXPECT_EQ(folded("a = Constant<value_int = 1>() b = Constant<value_int = 8>()"
                   " c = Constant<value_int = 3>() r = Range(a, b, c)"),
            "[3] {1, 4, 7}");
  EXPECT_EQ(folded("a = Constant<value_int = 3>() b = Constant<value_int = 0>()"
                   " c = Constant<value_int = -1>() r = Range(a, b, c)"),
            "[3] {3, 2, 1}");
  EXPECT_EQ(constant("int64[2] {2, 1}", "ConstantOfShape<value = int64[1] {7}>(a)"),
            "[2, 1] {7, 7}");
  EXPECT_EQ(constant("int64[2,2] {2, 3, 4, 5}", "ReduceProd<axes = [0]>(a)"), "[1, 2] {8, 15}");
  EXPECT_EQ(constant("int64[2,2] {2, 3, 4, 5}", "ReduceSum<keepdims = 0>(a)"), "[] {14}");
  EXPECT_EQ(constant("int64[2,2] {2, 3, 4, 5}", "ReduceMax<axes = [-1], keepdims = 0>(a)"),
            "[2] {3, 5}");
  EXPECT_EQ(
      constant("int64[2,1,3] {1, 2, 3, 4, 5, 6}", "ReduceProd<axes = [0, 2], keepdims = 0>(a)"),
      "[1] {720}");
  EXPECT_EQ(folded("a = Constant<value_float = 0.0>() b = Constant<value_float = 7.0>()"
                   " c = Constant<value_float = 3.0>() f = Range(a, b, c) r = Cast<to = 7>(f)"),
            "[3] {0, 3, 6}");
  EXPECT_EQ(constants("[2,2] {1, 2, 3, 4}", "[1] {1}", "Trilu(a, b)"), "[2, 2] {0, 2, 0, 0}");
  EXPECT_EQ(constant("int64[2,2] {0, 3, 4, 0}", "NonZero(a)"), "[2, 2] {0, 1, 1, 0}");
  EXPECT_EQ(constant("int64[2,2] {1, 2, 3, 4}", "Trilu<upper = 0>(a)"), "[2, 2] {1, 0, 3, 4}");
}

TEST(Fold, NumbersNearTheEndsOf64Bits) {
  const auto range = [](const std::string& start, const std::string& limit,
                        const std::string& delta) {
    return folded("a = Constant<value = int64 {" + start + "}>() b = Constant<value = int64 {" +
                  limit + "}>() c = Constant<value = int64 {" + delta + "}>() r = Range(a, b, c)");
  };
  EXPECT_EQ(range("-1", "9223372036854775807", "4611686018427387904"),
            "[2] {-1, 4611686018427387903}");
  EXPECT_EQ(range("1099511627776", "1099511627778", "1"), "[2] {1099511627776, 1099511627777}");
  EXPECT_EQ(range("0", "9223372036854775807", "1"), "not folded");
  EXPECT_EQ(constants("[2,2] {1, 2, 3, 4}", "[1] {1099511627776}", "Trilu(a, b)"),
            "[2, 2] {0, 0, 0, 0}");
  EXPECT_EQ(constants("[2,2] {1, 2, 3, 4}", "[1] {-9223372036854775807}", "Trilu(a, b)"),
            "[2, 2] {1, 2, 3, 4}");
  EXPECT_EQ(folded("n = Constant<value = int64[1] {5001}>() a = ConstantOfShape<value = int64[1] "
                   "{-1}>(n) r = ReduceProd(a)"),
            "[1] {-1}");
  EXPECT_EQ(constant("int64[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}", "ReduceProd<axes = [0]>(a)"),
            "[1, 3] {28, 80, 162}");
}

TEST(Fold, RealsThatFeedShapes) {
  // Exporters write the sizes of an interpolation like this: int to float, times a scale, floor, to
  // int.
  EXPECT_EQ(folded("s = Shape<start = 1>(x) f = Cast<to = 1>(s) h = Constant<value_float = 1.5>()"
                   " m = Mul(f, h) n = Floor(m) r = Cast<to = 7>(n)"),
            "not folded");
  const auto model = read_text(std::string(kFoldHead) + R"((float[2,3,4] x) => (float[4,6] y) {
      s = Shape<start = 1>(x) f = Cast<to = 1>(s) h = Constant<value_float = 1.5>()
      m = Mul(f, h) n = Floor(m) r = Cast<to = 7>(n) z = ConstantOfShape(r) y = Neg(z) })");
  EXPECT_EQ(operators(model.graph), "full neg");
}

TEST(Fold, WeightsAreLeftAlone) {
  const auto model = read_text(std::string(kFoldHead) + R"((float[2] x) => (float[2] y)
    <float[2] w = {1, 2}, float[2] v = {3, 4}> { s = Mul(w, v) y = Add(x, s) })");
  EXPECT_EQ(operators(model.graph), "mul add");
}

TEST(Fold, ReshapeTargetsFromShapes) {
  // The chain that flattens all but the batch dimension.
  const auto model = read_text(std::string(kFoldHead) + R"((float[2,3,4] x) => (float[2,12] y) {
      s = Shape(x) zero = Constant<value_int = 0>() b = Gather(s, zero)
      axes = Constant<value = int64[1] {0}>() b1 = Unsqueeze(b, axes)
      rest = Constant<value = int64[1] {-1}>() t = Concat<axis = 0>(b1, rest)
      y = Reshape(x, t) })");
  ASSERT_EQ(operators(model.graph), "reshape");
  const core::Node& node = model.graph.node(model.graph.order()[0]);
  EXPECT_EQ(node.attributes.get_ints("shape"), (std::vector<std::int64_t>{2, 12}));
  EXPECT_TRUE(model.opaque_nodes.empty());
}

TEST(Fold, OpsetsThatKeepParametersInAttributes) {
  const auto model = read_text(R"(<ir_version: 4, opset_import: ["" : 9]>
    g (float[2,3,4] x) => (float[12,2] y) {
      s = Shape(x) a = Slice<starts = [0], ends = [1]>(s) b = Slice<starts = [1], ends = [3]>(s)
      q = Squeeze<axes = [0]>(a) u = Unsqueeze<axes = [0]>(q)
      p = ReduceProd<axes = [0]>(b) t = Concat<axis = 0>(p, u) y = Reshape(x, t) })");
  EXPECT_EQ(operators(model.graph), "reshape");
}

TEST(Fold, TakenBranch) {
  const std::string text =
      std::string(kFoldHead) + R"((float[2,1,4] x) => (float[2,4] y, float[2,4] z) {
      s = Shape(x) one = Constant<value = int64[1] {1}>() d = Gather(s, one) c = Equal(d, one)
      y = If(c) <then_branch = t () => (float[2,4] a) { i = Constant<value = int64[1] {1}>() a = Squeeze(x, i) },
                 else_branch = e () => (float[2,1,4] b) { b = Identity(x) }>
      n = Not(c)
      z = If(n) <then_branch = t2 () => (float[2,1,4] b) { b = Identity(x) },
                 else_branch = e2 () => (float[2,4] a) { i = Constant<value = int64[1] {1}>() j = Neg(x) a = Squeeze(j, i) }>
    })";
  const auto model = read_text(text);
  EXPECT_EQ(operators(model.graph), "reshape neg reshape");
  EXPECT_TRUE(model.opaque_nodes.empty());
  EXPECT_EQ(op_types(parse_proto(write_checked(model))), "Squeeze Neg Squeeze");
  EXPECT_EQ(op_types(parse_proto(write_mapped(model))), "Reshape Neg Reshape");
}

TEST(Fold, BranchWithInputsIsLeftAlone) {
  auto proto = model_from_text(std::string(kFoldHead) + R"((float[2] x) => (float[2] y) {
      c = Constant<value = bool[1] {1}>()
      y = If(c) <then_branch = t (float[2] p) => (float[2] a) { a = Neg(p) },
                 else_branch = e () => (float[2] b) { b = Exp(x) }> })");
  const auto model = parse_onnx(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(operators(model->graph), "opaque:If");
}

TEST(Fold, BranchesInBranches) {
  const auto model =
      read_text(std::string(kFoldHead) + R"((float[2] x) => (float[2] y, float[2] z) {
      c = Constant<value = bool[1] {1}>()
      y = If(c) <then_branch = t () => (float[2] a) {
            m = Neg(x) a = If(c) <then_branch = t2 () => (float[2] p) { p = Exp(m) },
                                  else_branch = e2 () => (float[2] p) { p = Abs(x) }> },
                 else_branch = e () => (float[2] b) { b = Exp(x) }>
      z = If(c) <then_branch = t3 () => (float[2] a) { m = Sqrt(x) a = Abs(m) },
                 else_branch = e3 () => (float[2] b) { b = Exp(x) }> })");
  EXPECT_EQ(operators(model.graph), "neg exp sqrt abs");
  const auto written = parse_proto(write_checked(model));
  EXPECT_EQ(op_types(written), "Neg Exp Sqrt Abs");
}

}  // namespace
}  // namespace soapstone::models
