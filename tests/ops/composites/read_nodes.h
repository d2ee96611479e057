// One node of ONNX as it is read: its result, or why it is refused.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {

/// An input of a node: computed at run time, or known when the model is read.
struct Fed {
  core::TensorType type;
  std::optional<core::Literal> value = std::nullopt;
};

inline Fed reals(core::Shape shape) { return {{kF32, std::move(shape)}}; }
inline Fed indices_of(core::Shape shape) { return {{core::DataType::kInt64, std::move(shape)}}; }
inline Fed known_indices(Dims dims, const Ints& values) {
  return {{core::DataType::kInt64, core::to_shape(dims)}, core::Literal::ints(dims, values)};
}

struct Node {
  const char* op_type;
  int opset;
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {};
};

inline core::Result<core::Graph> read_node(const Node& node, const std::vector<Fed>& inputs) {
  OnnxGraph onnx;
  onnx.opset = node.opset;
  OnnxNode written{node.op_type, "", {}, {"y"}, node.attributes};
  for (const Fed& input : inputs) {
    written.inputs.push_back("in" + std::to_string(written.inputs.size()));
    if (input.value)
      onnx.constants.emplace(written.inputs.back(), *input.value);
    else
      onnx.inputs.emplace_back(written.inputs.back(), input.type);
  }
  onnx.nodes = {std::move(written)};
  onnx.outputs = {"y"};
  return read_onnx(onnx);
}

/// The result for those values of the inputs that are not known.
inline Values result_of(const Node& node, const std::vector<Fed>& inputs,
                        const std::vector<Values>& values) {
  const auto graph = read_node(node, inputs);
  EXPECT_TRUE(graph.ok()) << (graph ? "" : graph.error().to_string());
  return graph ? run(*graph, values)[0] : Values();
}

inline void expect_error(core::ErrorCode code, const Node& node, const std::vector<Fed>& inputs) {
  const auto graph = read_node(node, inputs);
  ASSERT_FALSE(graph.ok()) << node.op_type;
  EXPECT_EQ(graph.error().code, code) << graph.error().to_string();
}

}  // namespace soapstone::ops::test
