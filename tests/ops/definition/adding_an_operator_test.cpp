// Does what CONTRIBUTING.md says: an operator of one's own, from its definition alone.
#include <gtest/gtest.h>

#include <vector>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"

namespace soapstone::ops {
namespace {

/// y[i] = x[i]² + 1
OpDefinition square_plus_one() {
  const auto infer = [](InferContext& context) {
    return std::vector<TensorType>{context.input(0)};
  };
  const auto semantics = [](const OpInstance& node) {
    SemanticsBuilder builder(1);
    builder.output(node.outputs[0].shape, [](const std::vector<Polynomial>& i) {
      return read(0, i) * read(0, i) + number(1.0);
    });
    return std::move(builder).finish();
  };
  const OnnxMapping no_onnx{{}, [](OnnxExport&) -> core::Status {
                              return core::unsupported("ONNX has no such operator");
                            }};
  return OpDefinition({.name = std::string("square_plus_one"),
                       .equation = std::string("x[…] → y = x² + 1"),
                       .attributes = std::vector<core::AttributeSchema>{},
                       .inputs = std::pair<std::size_t, std::size_t>{1, 1},
                       .op_class = OpClass::kElementwise,
                       .infer = infer,
                       .semantics = semantics,
                       .onnx = no_onnx});
}

TEST(AddingAnOperator, TakesItsDefinitionAlone) {
  std::vector<std::vector<OpDefinition>> families(1);
  families[0].push_back(square_plus_one());
  const Registry registry(std::move(families));
  const OpDefinition* op = registry.definition("square_plus_one");
  ASSERT_NE(op, nullptr);

  const std::vector<TensorType> types{{core::DataType::kFloat32, {3}, true}};
  const core::Attributes attributes;
  InferContext context(attributes, types, op->name);
  const std::vector<TensorType> results = op->infer(context);
  ASSERT_FALSE(context.failed());
  const Semantics meaning = op->semantics({attributes, types, results});

  const std::vector<core::Dims> dims{{3}};
  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(3);
  const std::vector<std::span<const double>> inputs{x};
  const std::vector<std::span<double>> outputs{y};
  ASSERT_TRUE(CompiledSemantics<double>(meaning, dims).run(inputs, outputs).ok());
  EXPECT_EQ(y, (std::vector<double>{2, 5, 10}));

  std::vector<Field::Value> in_field(3);
  const std::vector<Field::Value> x_in_field{1, 2, 3};
  const std::vector<std::span<const Field::Value>> field_inputs{x_in_field};
  const std::vector<std::span<Field::Value>> field_outputs{in_field};
  ASSERT_TRUE(CompiledSemantics<Field::Value>(meaning, dims).run(field_inputs, field_outputs).ok());
  EXPECT_EQ(in_field, (std::vector<Field::Value>{2, 5, 10}));
}

}  // namespace
}  // namespace soapstone::ops
