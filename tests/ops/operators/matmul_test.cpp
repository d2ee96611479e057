// Matrix products: broadcasting of leading dimensions, vectors in ONNX, Gemm.
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using ::testing::ElementsAre;

TEST(MatMul, MultipliesMatrices) {
  const core::Graph graph = graph_of("a: f32[2, 3]  b: f32[3, 2]", "matmul(a, b)");
  expect_near(run(graph, {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}})[0], {58, 64, 139, 154});
}

TEST(MatMul, BroadcastsLeadingDimensions) {
  const core::Graph graph = graph_of("a: f32[2, 1, 1, 2]  b: f32[3, 2, 1]", "matmul(a, b)");
  expect_near(run(graph, {{1, 2, 3, 4}, {1, 10, 2, 20, 3, 30}})[0], {21, 42, 63, 43, 86, 129});
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"matmul.element_type", "a: bool[2, 3]  b: bool[3, 2]", "matmul(a, b)"},
      {"matmul.same_type", "a: f32[2, 3]  b: f16[3, 2]", "matmul(a, b)"},
      {"matmul.rank", "a: f32[3]  b: f32[3, 2]", "matmul(a, b)"},
      {"matmul.contraction", "a: f32[2, 3]  b: f32[2, 3]", "matmul(a, b)"},
      {"matmul.batch", "a: f32[2, 2, 3]  b: f32[3, 3, 2]", "matmul(a, b)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

TEST(MatMul, InfersSymbolicSizes) {
  core::SymbolTable names;
  const Polynomial b = names.intern("b"), m = names.intern("m"), k = names.intern("k"),
                   j = names.intern("j"), n = names.intern("n");
  const auto done = infer_symbolically("matmul", {}, {{b, 1, m, k}, {4, j, n}}, names);
  EXPECT_EQ(core::to_string(done.results[0].shape, names), "[b, 4, m, n]");
  EXPECT_THAT(done.constraints, ElementsAre("matmul.contraction: k - j = 0"));
}

core::Graph read_matmul(core::Shape a, core::Shape b) {
  OnnxGraph onnx;
  onnx.inputs = {{"a", {kF32, std::move(a)}}, {"b", {kF32, std::move(b)}}};
  onnx.nodes = {{"MatMul", "", {"a", "b"}, {"y"}, {}}};
  onnx.outputs = {"y"};
  return read_onnx(onnx).value();
}

TEST(MatMul, ReadsVectorsAsMatrices) {
  const core::Graph dot = read_matmul({3}, {3});
  EXPECT_EQ(dot.tensor(dot.outputs()[0]).type.shape, core::Shape{});
  expect_near(run(dot, {{1, 2, 3}, {4, 5, 6}})[0], {32});

  const core::Graph row = read_matmul({2}, {3, 2, 2});
  EXPECT_EQ(row.tensor(row.outputs()[0]).type.shape, (core::Shape{3, 2}));
  const core::Graph column = read_matmul({3, 2, 2}, {2});
  EXPECT_EQ(column.tensor(column.outputs()[0]).type.shape, (core::Shape{3, 2}));
}

TEST(Gemm, ScalesTransposesAndAdds) {
  for (bool constant_b : {false, true}) {
    OnnxGraph onnx;
    const Values a = counting(6, 1), b = counting(6, -2), c{5, 7};
    const std::vector<float> floats(b.begin(), b.end());
    onnx.inputs = {{"a", {kF32, {3, 2}}}, {"c", {kF32, {2}}}};
    if (constant_b)
      onnx.constants.emplace("b", core::Literal::floats({2, 3}, floats));
    else
      onnx.inputs.push_back({"b", {kF32, {2, 3}}});
    onnx.nodes = {{"Gemm",
                   "",
                   {"a", "b", "c"},
                   {"y"},
                   {{"alpha", 0.5f},
                    {"beta", 2.0f},
                    {"transA", std::int64_t{1}},
                    {"transB", std::int64_t{1}}}}};
    onnx.outputs = {"y"};
    const core::Graph graph = read_onnx(onnx).value();
    Values expected;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double total = 0;
        for (std::size_t k = 0; k < 3; ++k) total += a[k * 2 + i] * b[j * 3 + k];
        expected.push_back(0.5 * total + 2 * c[j]);
      }
    auto inputs = std::vector<Values>{a, c};
    if (!constant_b) inputs.push_back(b);
    expect_near(run(graph, inputs)[0], expected);
  }
}

TEST(Gemm, LeavesOutAFactorOfOneAndAMissingBias) {
  OnnxGraph onnx;
  onnx.inputs = {{"a", {kF32, {2, 3}}}, {"b", {kF32, {3, 2}}}};
  onnx.nodes = {{"Gemm", "", {"a", "b"}, {"y"}, {}}};
  onnx.outputs = {"y"};
  const core::Graph graph = read_onnx(onnx).value();
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(graph.node(graph.order()[0]).op->name, "matmul");
}

}  // namespace
}  // namespace soapstone::ops::test
