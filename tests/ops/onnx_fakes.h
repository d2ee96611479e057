// Stand-ins for models/: ONNX nodes as plain data, read into a graph and written from one, without
// protobuf.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/literal.h"
#include "ops/definition/onnx_mapping.h"
#include "ops/definition/registry.h"

namespace soapstone::ops::test {

/// An ONNX graph: nodes, and the values that they name.
struct OnnxGraph {
  int opset = 17;
  std::vector<std::pair<std::string, core::TensorType>> inputs;
  std::map<std::string, core::Literal> constants;
  std::vector<OnnxNode> nodes;
  std::vector<std::string> outputs;
};

/// Every reader that there is.
inline std::vector<OnnxReader> all_readers() {
  std::vector<OnnxReader> readers = composite_readers();
  for (const auto& op : registry().all())
    readers.insert(readers.end(), op->onnx.readers.begin(), op->onnx.readers.end());
  return readers;
}

class FakeImport final : public OnnxImport {
 public:
  using Names = std::map<std::string, core::TensorId>;
  FakeImport(core::GraphBuilder& builder, const Names& names, const OnnxNode& node, int opset)
      : builder_(builder), names_(names), node_(node), opset_(opset) {}

  int opset() const override { return opset_; }
  std::string_view op_type() const override { return node_.op_type; }
  const OnnxAttribute* attribute(std::string_view name) const override {
    for (const auto& [key, value] : node_.attributes)
      if (key == name) return &value;
    return nullptr;
  }
  std::size_t input_count() const override { return node_.inputs.size(); }
  std::size_t output_count() const override { return node_.outputs.size(); }
  core::TensorId input(std::size_t k) const override {
    if (k >= node_.inputs.size() || node_.inputs[k].empty()) return core::TensorId::none();
    return names_.at(node_.inputs[k]);
  }
  core::LiteralPtr constant_input(std::size_t k) const override {
    return input(k).valid() ? builder_.tensor(input(k)).value : nullptr;
  }
  const core::TensorType& type(core::TensorId id) const override {
    return builder_.tensor(id).type;
  }
  core::TensorId constant(core::Literal value) override {
    return builder_.add_constant(std::make_shared<const core::Literal>(std::move(value)));
  }
  core::Result<std::vector<core::TensorId>> append(std::string_view op,
                                                   std::vector<core::TensorId> inputs,
                                                   core::Attributes attributes) override {
    return ops::append(builder_, op, std::move(inputs), attributes);
  }

 private:
  core::GraphBuilder& builder_;
  const Names& names_;
  const OnnxNode& node_;
  int opset_;
};

/// Errors: kUnsupported if no reader takes a node.
inline core::Result<core::Graph> read_onnx(const OnnxGraph& onnx) {
  core::GraphBuilder builder;
  FakeImport::Names names;
  for (const auto& [name, type] : onnx.inputs) names[name] = builder.add_input(name, type);
  for (const auto& [name, value] : onnx.constants)
    names[name] = builder.add_constant(std::make_shared<const core::Literal>(value), name);
  static const std::vector<OnnxReader> kReaders = all_readers();
  for (const OnnxNode& node : onnx.nodes) {
    if (node.op_type == "Constant") {  // No reader has it: models/ reads it before it asks for one.
      const auto value = std::get<core::LiteralPtr>(node.attributes.at(0).second);
      names[node.outputs.at(0)] = builder.add_constant(value);
      continue;
    }
    FakeImport import(builder, names, node, onnx.opset);
    const OnnxReader* found = nullptr;
    for (const OnnxReader& reader : kReaders)
      if (reader.op_type == node.op_type && reader.domain == node.domain &&
          reader.since_opset <= onnx.opset && onnx.opset <= reader.until_opset)
        found = &reader;
    if (!found) return core::unsupported("no reader for " + node.op_type);
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<core::TensorId> results, found->read(import));
    CHECK(results.size() >= node.outputs.size(), "too few results: " + node.op_type);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) names[node.outputs[k]] = results[k];
  }
  std::vector<core::TensorId> outputs;
  for (const std::string& name : onnx.outputs) outputs.push_back(names.at(name));
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

class FakeExport final : public OnnxExport {
 public:
  FakeExport(const core::Graph& graph, core::NodeId node, OnnxGraph& onnx)
      : graph_(graph), node_(node), onnx_(onnx) {}

  int opset() const override { return onnx_.opset; }
  const core::Graph& graph() const override { return graph_; }
  const core::Node& node() const override { return graph_.node(node_); }
  std::string name(core::TensorId id) const override {
    return id.valid() ? "t" + std::to_string(id.index()) : "";
  }
  std::string constant(core::Literal value) override {
    std::string name = fresh_name("constant");
    onnx_.constants.emplace(name, std::move(value));
    return name;
  }
  std::string fresh_name(std::string_view hint) override {
    return std::string(hint) + "_" + std::to_string(next_++);
  }
  void emit(OnnxNode node) override { onnx_.nodes.push_back(std::move(node)); }

 private:
  const core::Graph& graph_;
  core::NodeId node_;
  OnnxGraph& onnx_;
  int next_ = 0;
};

/// A graph of one node, written. Errors: those of the writer.
inline core::Result<OnnxGraph> write_onnx(const core::Graph& graph, int opset) {
  OnnxGraph onnx;
  onnx.opset = opset;
  const auto name = [](core::TensorId id) { return "t" + std::to_string(id.index()); };
  for (core::TensorId id : graph.inputs())
    onnx.inputs.emplace_back(name(id), graph.tensor(id).type);
  for (core::TensorId id : graph.outputs()) onnx.outputs.push_back(name(id));
  const core::NodeId node = graph.order().front();
  FakeExport out(graph, node, onnx);
  SOAPSTONE_RETURN_IF_ERROR(definition_of(graph.node(node))->onnx.write(out));
  return onnx;
}

}  // namespace soapstone::ops::test
