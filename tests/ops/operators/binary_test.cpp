// Elementwise operators on two tensors: known values, broadcasting, result types, and the ONNX
// names that are read as them.
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::DataType;

struct Known {
  const char* op;
  Values a, b, y;
};

TEST(Binary, HasKnownValues) {
  const Known known[] = {
      {"add", {1, -2}, {3, 4}, {4, 2}},          {"mul", {1, -2}, {3, 4}, {3, -8}},
      {"sub", {1, -2}, {3, 4}, {-2, -6}},        {"div", {1, -2}, {2, 4}, {0.5, -0.5}},
      {"min", {1, 5}, {3, 4}, {1, 4}},           {"max", {1, 5}, {3, 4}, {3, 5}},
      {"pow", {2, 9}, {3, 0.5}, {8, 3}},         {"less", {1, 4}, {3, 4}, {1, 0}},
      {"equal", {1, 4}, {3, 4}, {0, 1}},         {"less_or_equal", {1, 4}, {3, 4}, {1, 1}},
      {"less_or_equal", {4, 5}, {3, 4}, {0, 0}},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(k.op);
    const core::Graph graph = graph_of("a: f32[2]  b: f32[2]", std::string(k.op) + "(a, b)");
    expect_near(run(graph, {k.a, k.b})[0], k.y);
  }
}

TEST(Binary, Broadcasts) {
  const core::Graph graph = graph_of("a: f32[2, 1]  b: f32[3]", "sub(a, b)");
  expect_near(run(graph, {{10, 20}, {1, 2, 3}})[0], {9, 8, 7, 19, 18, 17});
}

TEST(Binary, BroadcastsSymbolsOnlyToThemselves) {
  core::SymbolTable names;
  const Polynomial m = names.intern("m"), n = names.intern("n");
  const auto same = infer_symbolically("add", {}, {{m, 1}, {n}}, names);
  EXPECT_EQ(core::to_string(same.results[0].shape, names), "[m, n]");
  EXPECT_TRUE(same.constraints.empty());
  const auto equal = infer_symbolically("add", {}, {{m}, {n}}, names);
  EXPECT_EQ(equal.constraints, std::vector<std::string>{"add.broadcast: m - n = 0"});
}

TEST(Where, Selects) {
  const core::Graph graph = graph_of("c: bool[2, 1]  a: f32[2]  b: f32[]", "where(c, a, b)");
  expect_near(run(graph, {{1, 0}, {1, 2}, {9}})[0], {1, 2, 9, 9});
}

TEST(Binary, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"add.element_type", "a: bool[2]  b: bool[2]", "add(a, b)"},
      {"add.element_type", "a: u8[2]  b: u8[2]", "add(a, b)"},
      {"add.same_type", "a: f32[2]  b: i64[2]", "add(a, b)"},
      {"add.broadcast", "a: f32[2]  b: f32[3]", "add(a, b)"},
      {"div.element_type", "a: i64[2]  b: i64[2]", "div(a, b)"},
      {"less.same_type", "a: f32[2]  b: f16[2]", "less(a, b)"},
      {"pow.exponent_type", "a: i64[2]  b: f32[2]", "pow(a, b)"},
      {"where.condition_type", "c: f32[2]  a: f32[2]  b: f32[2]", "where(c, a, b)"},
      {"where.same_type", "c: bool[2]  a: f32[2]  b: i64[2]", "where(c, a, b)"},
      {"where.broadcast", "c: bool[3]  a: f32[2]  b: f32[2]", "where(c, a, b)"},
      {"where.broadcast", "c: bool[2]  a: f32[2]  b: f32[3]", "where(c, a, b)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

TEST(Binary, OnlyOrderlessOperatorsCommute) {
  for (const auto& op : registry().all()) {
    const std::string& n = op->name;
    EXPECT_EQ(op->commutative, n == "add" || n == "mul" || n == "min" || n == "max" || n == "equal")
        << n;
  }
}

core::Result<core::Graph> read(std::string op_type, std::size_t count, DataType type,
                               int opset = 17) {
  OnnxGraph onnx;
  onnx.opset = opset;
  OnnxNode node{std::move(op_type), "", {}, {"y"}, {}};
  for (std::size_t k = 0; k < count; ++k) {
    node.inputs.push_back("x" + std::to_string(k));
    onnx.inputs.emplace_back(node.inputs.back(), core::TensorType{type, {2}});
  }
  onnx.nodes = {std::move(node)};
  onnx.outputs = {"y"};
  return read_onnx(onnx);
}

TEST(Binary, ReadsComparisonsThroughLess) {
  const std::vector<Values> inputs{{1, 4}, {3, 4}};
  expect_near(run(*read("Greater", 2, DataType::kFloat32), inputs)[0], {0, 0});
  expect_near(run(*read("GreaterOrEqual", 2, DataType::kFloat32), inputs)[0], {0, 1});
  expect_near(run(*read("LessOrEqual", 2, DataType::kFloat32), inputs)[0], {1, 1});
}

TEST(Binary, NoComparisonWithNaNIsTrue) {
  const double nan = std::nan("");
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
    const core::Graph graph = *read(op, 2, DataType::kFloat32);
    EXPECT_EQ(run(graph, {{nan, 1}, {1, nan}})[0], (Values{0, 0})) << op;
    EXPECT_EQ(graph.order().size(), 1u) << op;
  }
}

TEST(Binary, WritesLessOrEqualForEveryOpset) {
  const core::Graph floats = *read("LessOrEqual", 2, DataType::kFloat32);
  const core::Graph integers = *read("GreaterOrEqual", 2, DataType::kInt64);
  EXPECT_EQ(write_onnx(floats, 12)->nodes[0].op_type, "LessOrEqual");
  EXPECT_EQ(write_onnx(floats, 11)->nodes.back().op_type, "Or");
  // Equal compares floats since opset 11; before, equality is neither of the two orders.
  EXPECT_EQ(write_onnx(floats, 10)->nodes.back().op_type, "Not");
  EXPECT_EQ(write_onnx(floats, 10)->nodes.front().op_type, "Less");
  EXPECT_EQ(write_onnx(integers, 10)->nodes.back().op_type, "Not");
}

TEST(Binary, OfNaNMinAndMaxAreNaN) {
  const double nan = std::nan("");
  for (const char* op : {"Min", "Max"}) {
    const auto outputs = run(*read(op, 2, DataType::kFloat32), {{nan, 1}, {1, nan}});
    for (const double y : outputs[0]) EXPECT_TRUE(std::isnan(y)) << op;
  }
}

TEST(Binary, ReadsChains) {
  const std::vector<Values> inputs{{1, 4}, {3, 2}, {5, 0}};
  expect_near(run(*read("Sum", 3, DataType::kFloat32), inputs)[0], {9, 6});
  expect_near(run(*read("Max", 3, DataType::kFloat32), inputs)[0], {5, 4});
  expect_near(run(*read("Min", 3, DataType::kFloat32), inputs)[0], {1, 0});
  expect_near(run(*read("Mean", 3, DataType::kFloat32), inputs)[0], {3, 2});
  EXPECT_TRUE(read("Max", 1, DataType::kFloat32)->order().empty());
}

TEST(Binary, ReadsAndWritesTruthValues) {
  const std::vector<Values> inputs{{0, 1}, {1, 1}};
  expect_near(run(*read("And", 2, DataType::kBool), inputs)[0], {0, 1});
  expect_near(run(*read("Or", 2, DataType::kBool), inputs)[0], {1, 1});
  expect_near(run(*read("Xor", 2, DataType::kBool), inputs)[0], {1, 0});
  EXPECT_EQ(write_onnx(*read("Or", 2, DataType::kBool), 17)->nodes[0].op_type, "Or");
  EXPECT_EQ(write_onnx(*read("And", 2, DataType::kBool), 17)->nodes[0].op_type, "And");
}

TEST(Binary, KeepsIntegerDivisionAndWrappingOpaque) {
  for (const auto& graph : {read("Div", 2, DataType::kInt64), read("Add", 2, DataType::kUInt8)}) {
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported);
  }
}

TEST(Binary, BeforeOpset7AnAxisAlignsOperands) {
  OnnxGraph onnx;
  onnx.opset = 6;
  onnx.inputs = {{"a", {DataType::kFloat32, {2, 2}}}, {"b", {DataType::kFloat32, {2}}}};
  onnx.outputs = {"y"};
  for (std::int64_t axis : {0, 1}) {
    onnx.nodes = {{"Add", "", {"a", "b"}, {"y"}, {{"broadcast", std::int64_t{1}}, {"axis", axis}}}};
    EXPECT_EQ(read_onnx(onnx).ok(), axis == 1);
  }
}

// A root is no power: of −∞ it is NaN, (−∞)^½ is ∞.
TEST(Pow, ReadsSquaresAsSuchAndRootsAsPowers) {
  const auto op_of = [](float exponent) -> std::string {
    OnnxGraph onnx;
    onnx.inputs = {{"x", {DataType::kFloat32, {2}}}};
    onnx.constants.emplace("e", core::Literal::scalar(exponent));
    onnx.nodes = {{"Pow", "", {"x", "e"}, {"y"}, {}}};
    onnx.outputs = {"y"};
    const core::Graph graph = read_onnx(onnx).value();
    return graph.order().empty() ? "" : graph.node(graph.order()[0]).op->name;
  };
  EXPECT_EQ(op_of(1), "");
  EXPECT_EQ(op_of(2), "mul");
  EXPECT_EQ(op_of(0.5), "pow");
  EXPECT_EQ(op_of(3), "pow");
}

}  // namespace
}  // namespace soapstone::ops::test
