// Writes the nodes of a graph: those that nothing changed as they were read, ours by their
// operators' mappings, opaque ones as they were.
#pragma once

#include <unordered_set>

#include "models/onnx/writing/onnx_export.h"
#include "onnx/checker.h"

namespace soapstone::models {

class NodeWriter {
 public:
  NodeWriter(const core::Graph& graph, const OriginalPlan& plan, const OpaqueProtos& opaque,
             TensorNames& names, onnx::ModelProto& model, std::vector<NamedWeight>& weights);

  /// Nothing if the node is not needed.
  core::Status write(core::NodeId id);
  void write_copy(core::TensorId from, const std::string& to);

 private:
  class Export;
  core::Status write_opaque(const core::Node& node, onnx::NodeProto proto);
  bool write_weight(const core::Node& node, onnx::NodeProto& proto);
  void write_original(const WrittenNode& written);
  void add(onnx::NodeProto node, const std::string& node_name);
  core::Status check(const onnx::NodeProto& node) const;
  core::Status check_types(const onnx::NodeProto& node) const;
  std::string new_constant(core::LiteralPtr value, std::string_view hint);

  const core::Graph& graph_;
  const OriginalPlan& plan_;
  const OpaqueProtos& opaque_;
  TensorNames& names_;
  int opset_;
  onnx::GraphProto& out_;
  std::vector<NamedWeight>& weights_;
  onnx::checker::CheckerContext checker_;
  /// Element types of the tensors that have a name so far, where they are known.
  std::unordered_map<std::string, core::DataType> types_;
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, int> next_suffix_;
};

}  // namespace soapstone::models
