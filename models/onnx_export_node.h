// Writes the nodes of a graph: ours by their operators' mappings, opaque ones as they were.
#pragma once

#include <unordered_set>

#include "models/onnx_export.h"
#include "onnx/checker.h"

namespace soapstone::models {

class NodeWriter {
 public:
  NodeWriter(const core::Graph& graph, const OpaqueProtos& opaque, TensorNames& names,
             onnx::ModelProto& model, std::vector<NamedWeight>& weights);

  core::Status write(core::NodeId id);
  void write_copy(core::TensorId from, const std::string& to);

 private:
  class Export;
  core::Status write_opaque(const core::Node& node, onnx::NodeProto proto);
  void add(onnx::NodeProto node, const std::string& node_name);
  core::Status check(const onnx::NodeProto& node) const;
  std::string new_constant(core::Literal value);

  const core::Graph& graph_;
  const OpaqueProtos& opaque_;
  TensorNames& names_;
  int opset_;
  onnx::GraphProto& out_;
  std::vector<NamedWeight>& weights_;
  onnx::checker::CheckerContext checker_;
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, int> next_suffix_;
};

}  // namespace soapstone::models
