// Whole graphs: order, constants, inputs that are outputs, memory, errors, determinism.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/field.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::GraphBuilder;
using core::TensorId;
using core::TensorType;
using ::testing::HasSubstr;

TensorType matrix(std::int64_t m, std::int64_t n) {
  return {DataType::kFloat32, core::to_shape({m, n}), true};
}

core::LiteralPtr literal(core::Dims dims, std::vector<float> values) {
  return std::make_shared<const core::Literal>(core::Literal::floats(std::move(dims), values));
}

/// relu(x·w) + x, with x and the constant w as outputs too.
core::Graph residual() {
  GraphBuilder b("residual");
  const TensorId x = b.add_input("x", matrix(2, 2));
  const TensorId w = b.add_constant(literal({2, 2}, {1, -1, 0.5f, 2}), "w");
  const TensorId product = append(b, "matmul", {x, w}).value()[0];
  const TensorId positive = append(b, "relu", {product}).value()[0];
  const TensorId y = append(b, "add", {positive, x}).value()[0];
  b.set_outputs({y, x, w});
  return std::move(b).finish().value();
}

TEST(EvaluateGraph, ComputesAllOutputs) {
  const std::vector<double> x{1, 2, -3, 4};
  const auto y = evaluate_graph<double>(residual(), std::vector<std::vector<double>>{x}).value();
  ASSERT_EQ(y.size(), 3u);
  EXPECT_EQ(y[0], (std::vector<double>{3, 5, -3, 15}));
  EXPECT_EQ(y[1], x);
  EXPECT_EQ(y[2], (std::vector<double>{1, -1, 0.5, 2}));
}

TEST(EvaluateGraph, RunsManyTimesWithTheSameResult) {
  const auto program = GraphProgram<field::Value>::compile(residual(), 5).value();
  const std::vector<std::vector<field::Value>> x{{1, 2, field::from_int(-3), 4}};
  const auto first = program.run(x).value();
  EXPECT_EQ(first[0], (std::vector<field::Value>{3, 5, field::from_int(-3), 15}));
  for (int k = 0; k < 3; ++k) EXPECT_EQ(program.run(x).value(), first);
}

TEST(EvaluateGraph, WrongInputsAreErrors) {
  const auto none = evaluate_graph<double>(residual(), {});
  EXPECT_THAT(none.error().message, HasSubstr("1 inputs, not 0"));
  const auto few = evaluate_graph<double>(residual(), std::vector<std::vector<double>>{{1}});
  EXPECT_THAT(few.error().message, HasSubstr("4 elements, not 1"));
}

TEST(EvaluateGraph, OpaqueNodesAreNamed) {
  GraphBuilder b;
  const TensorId x = b.add_input("x", matrix(2, 2));
  const auto y =
      b.add_node(opaque_schema(), {{"op_type", std::string("TopK")}}, {x}, {matrix(2, 2)}, "best");
  b.set_outputs({y[0]});
  const auto graph = std::move(b).finish().value();
  const auto result = evaluate_graph<double>(graph, std::vector<std::vector<double>>{{1, 2, 3, 4}});
  EXPECT_EQ(result.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, HasSubstr("'best' (TopK)"));
}

TEST(EvaluateGraph, SymbolicSizesAreErrors) {
  core::SymbolTable symbols;
  const core::Polynomial n(symbols.intern("n"));
  GraphBuilder b("g", symbols);
  const TensorId x = b.add_input("x", {DataType::kFloat32, {n}, true});
  b.set_outputs({append(b, "relu", {x}).value()[0]});
  const auto graph = std::move(b).finish().value();
  const auto result = evaluate_graph<double>(graph, std::vector<std::vector<double>>{{1}});
  EXPECT_EQ(result.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_THAT(result.error().message, HasSubstr("'x'"));
}

}  // namespace
}  // namespace soapstone::ops
