// ONNX's shape inference in a process of its own: what breaks it, and that it goes on afterwards.
#include "models/onnx/reading/inference_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace soapstone::models {
namespace {

using testing::HasSubstr;

/// A model of one operator that reads f32 inputs of these shapes.
onnx::ModelProto model_of(const std::string& op, const std::vector<std::vector<int>>& shapes,
                          const std::vector<std::pair<std::string, std::int64_t>>& attributes,
                          int opset = 20) {
  onnx::ModelProto model;
  auto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  node.add_output("y");
  for (const auto& shape : shapes) {
    auto& input = *model.mutable_graph()->add_input();
    input.set_name("x" + std::to_string(node.input_size()));
    node.add_input(input.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
  }
  for (const auto& [name, value] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  return model;
}

TEST(InferenceProcess, AnswersAsOnnxDoes) {
  InferenceProcess process;
  const auto answer =
      process.infer(model_of("DepthToSpace", {{1, 16, 8, 8}}, {{"blocksize", 2}}), true);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->refusal, "");
  ASSERT_EQ(answer->graph.value_info_size(), 1);
  const auto& shape = answer->graph.value_info(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 4);
  EXPECT_EQ(shape.dim(2).dim_value(), 16);
}

TEST(InferenceProcess, ARefusalIsAnAnswer) {
  InferenceProcess process;
  const auto answer = process.infer(model_of("MatMul", {{2, 3}, {4, 5}}, {}), true);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_THAT(answer->refusal, HasSubstr("MatMul"));
}

TEST(InferenceProcess, ADivisionByZeroIsAnErrorAndTheNextQuestionIsAnswered) {
  InferenceProcess process;
  for (int k = 0; k < 2; ++k) {
    const auto broken = process.infer(model_of("Attention", {{1, 8, 16}, {1, 8, 16}, {1, 8, 16}},
                                               {{"q_num_heads", 4}, {"kv_num_heads", 0}}, 23),
                                      false);
    ASSERT_FALSE(broken.ok());
    EXPECT_EQ(broken.error().code, core::ErrorCode::kInvalidInput);
    EXPECT_THAT(broken.error().message, HasSubstr("breaks on it"));
    const auto fine = process.infer(model_of("Relu", {{2, 3}}, {}), false);
    ASSERT_TRUE(fine.ok()) << fine.error().to_string();
    EXPECT_EQ(fine->graph.value_info_size(), 1);
  }
}

}  // namespace
}  // namespace soapstone::models
