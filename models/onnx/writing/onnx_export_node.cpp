// One node of ours as ONNX nodes. Mappings in ops/ say which; here they become messages.
#include "models/onnx/writing/onnx_export_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "models/onnx/format/onnx_types.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/reading/onnx_document.h"
#include "onnx/defs/schema.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;

onnx::AttributeProto attribute_message(const std::string& name, const ops::OnnxAttribute& value) {
  using Proto = onnx::AttributeProto;
  Proto message;
  message.set_name(name);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    message.set_type(Proto::INT);
    message.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    message.set_type(Proto::FLOAT);
    message.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.set_type(Proto::STRING);
    message.set_s(*text);
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) {
    message.set_type(Proto::INTS);
    for (std::int64_t n : *numbers) message.add_ints(n);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    message.set_type(Proto::FLOATS);
    for (float r : *reals) message.add_floats(r);
  } else {
    message.set_type(Proto::TENSOR);
    *message.mutable_t() = to_tensor_proto(*std::get<core::LiteralPtr>(value), {});
  }
  return message;
}

/// The type in the notation of ONNX's schemas: `tensor(float16)`.
std::string type_text(core::DataType type) {
  std::string name = onnx::TensorProto::DataType_Name(data_type_to_onnx(type));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return "tensor(" + name + ")";
}

std::string describe(const core::Node& node) {
  return node.name.empty() ? fmt::format("node ({})", node.op->name)
                           : fmt::format("node '{}' ({})", node.name, node.op->name);
}

bool is_concrete(const core::AttributeValue& value) {
  if (const auto* number = std::get_if<core::Polynomial>(&value)) return number->is_constant();
  const auto* numbers = std::get_if<std::vector<core::Polynomial>>(&value);
  return !numbers || core::concrete(*numbers).has_value();
}

/// Mappings may rely on numbers; a graph that was read from text may have symbols.
core::Status check_concrete(const core::Graph& graph, const core::Node& node) {
  for (const auto& [name, value] : node.attributes.values()) {
    if (!is_concrete(value)) {
      return core::invalid_input(fmt::format("the attribute '{}' has symbolic sizes", name),
                                 "give the sizes numbers before the graph is written");
    }
  }
  const auto check = [&](TensorId id) -> core::Status {
    if (!id.valid() || core::concrete(graph.tensor(id).type.shape)) return core::Done{};
    return core::invalid_input(
        fmt::format("the tensor '{}' has symbolic sizes", graph.tensor(id).name),
        "give the sizes numbers before the graph is written");
  };
  for (TensorId id : node.inputs) SOAPSTONE_RETURN_IF_ERROR(check(id));
  for (TensorId id : node.outputs) SOAPSTONE_RETURN_IF_ERROR(check(id));
  return core::Done{};
}

}  // namespace

class NodeWriter::Export final : public ops::OnnxExport {
 public:
  Export(NodeWriter& writer, const core::Node& node) : writer_(writer), node_(node) {}

  int opset() const override { return writer_.opset_; }
  const core::Graph& graph() const override { return writer_.graph_; }
  const core::Node& node() const override { return node_; }
  std::string name(TensorId id) const override { return writer_.names_.of(id); }
  std::string constant(core::Literal value) override {
    return writer_.new_constant(std::make_shared<const core::Literal>(std::move(value)),
                                "constant");
  }
  std::string fresh_name(std::string_view hint) override {
    return writer_.names_.fresh(node_.name.empty() ? std::string(hint)
                                                   : fmt::format("{}/{}", node_.name, hint));
  }
  void emit(ops::OnnxNode node) override {
    onnx::NodeProto message;
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    message.set_op_type(std::move(node.op_type));
    if (!node.domain.empty()) message.set_domain(std::move(node.domain));
    for (std::string& input : node.inputs) message.add_input(std::move(input));
    for (std::string& output : node.outputs) message.add_output(std::move(output));
    for (const auto& [name, value] : node.attributes) {
      *message.add_attribute() = attribute_message(name, value);
    }
    if (auto checked = writer_.check(message); !checked && status_) status_ = checked;
    writer_.add(std::move(message), node_.name);
  }
  /// The first error of anything that was emitted.
  const core::Status& status() const { return status_; }

 private:
  NodeWriter& writer_;
  const core::Node& node_;
  core::Status status_ = core::Done{};
};

NodeWriter::NodeWriter(const core::Graph& graph, const OriginalPlan& plan,
                       const OpaqueProtos& opaque, TensorNames& names, onnx::ModelProto& model,
                       std::vector<NamedWeight>& weights)
    : graph_(graph), plan_(plan), opaque_(opaque), names_(names), opset_(default_opset(model)),
      out_(*model.mutable_graph()), weights_(weights) {
  checker_.set_ir_version(static_cast<int>(model.ir_version()));
  checker_.set_opset_imports(opsets_of(model));
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (graph.contains(id) && !names.of(id).empty())
      types_.emplace(names.of(id), graph.tensor(id).type.data_type);
  }
}

core::Status NodeWriter::write(core::NodeId id) {
  if (!plan_.is_needed(id)) return core::Done{};
  if (const WrittenNode* original = plan_.at(id)) {
    write_original(*original);
    return core::Done{};
  }
  const core::Node& node = graph_.node(id);
  if (auto status = check_concrete(graph_, node); !status) {
    return status.error().at(describe(node));
  }
  if (const auto proto = opaque_.find(id); proto != opaque_.end()) {
    return write_opaque(node, proto->second);
  }
  Export out(*this, node);
  const ops::OpDefinition* definition = ops::definition_of(node);
  auto status = definition->onnx.write(out);
  if (status) status = out.status();
  if (!status) return status.error().at(describe(node));
  return core::Done{};
}

/// Constants that its reader knew may be gone from the graph; they are weights again.
void NodeWriter::write_original(const WrittenNode& written) {
  const OriginalNode& original = *written.original;
  onnx::NodeProto proto = original.proto;
  for (int k = 0; k < proto.input_size(); ++k) {
    const auto index = static_cast<std::size_t>(k);
    if (written.inputs[index].valid())
      proto.set_input(k, names_.of(written.inputs[index]));
    else if (!proto.input(k).empty())
      proto.set_input(k, new_constant(original.values[index], original.proto.input(k)));
  }
  for (int k = 0; k < proto.output_size(); ++k) {
    const TensorId result = written.results[static_cast<std::size_t>(k)];
    if (result.valid())
      proto.set_output(k, names_.of(result));
    else if (!proto.output(k).empty())  // nobody reads it here, or it is what the node reads
      proto.set_output(k, names_.fresh(proto.output(k)));
  }
  const std::string name = proto.name();
  add(std::move(proto), name);
}

/// True: the node was a weight, which is one again.
bool NodeWriter::write_weight(const core::Node& node, onnx::NodeProto& proto) {
  if (proto.attribute_size() != 1 || proto.attribute(0).doc_string() != kWeightMark) return false;
  onnx::AttributeProto& attribute = *proto.mutable_attribute(0);
  const std::string& name = names_.of(node.outputs[0]);
  if (attribute.has_t()) {
    attribute.mutable_t()->set_name(name);
    *out_.add_initializer() = std::move(*attribute.mutable_t());
  } else {
    attribute.mutable_sparse_tensor()->mutable_values()->set_name(name);
    *out_.add_sparse_initializer() = std::move(*attribute.mutable_sparse_tensor());
  }
  return true;
}

core::Status NodeWriter::write_opaque(const core::Node& node, onnx::NodeProto proto) {
  if (write_weight(node, proto)) return core::Done{};
  const int explicit_inputs = proto.input_size();
  for (int k = 0; k < explicit_inputs; ++k) {
    proto.set_input(k, names_.of(node.inputs[static_cast<std::size_t>(k)]));
  }
  for (int k = 0; k < proto.output_size(); ++k) {
    proto.set_output(k, names_.of(node.outputs[static_cast<std::size_t>(k)]));
  }
  std::unordered_map<std::string, std::string> new_names;
  auto at = static_cast<std::size_t>(explicit_inputs);
  for (const std::string& captured : captured_names(proto)) {
    new_names[captured] = names_.of(node.inputs[at++]);
  }
  rename_captured(proto, new_names);
  add(std::move(proto), node.name);
  return core::Done{};
}

/// Operators come and change with opsets. A mapping that says more than the model's opset knows
/// must not become an invalid file.
core::Status NodeWriter::check(const onnx::NodeProto& node) const {
  if (!node.domain().empty()) return core::Done{};
  try {
    onnx::checker::check_node(node, checker_, {});
  } catch (const std::exception& error) {
    return core::unsupported(
        fmt::format("cannot be written for opset {}: {}", opset_, one_line(error.what())),
        "convert the model to a newer opset first");
  }
  return check_types(node);
}

/// Element types came to operators over time too, which the checker of nodes does not see.
core::Status NodeWriter::check_types(const onnx::NodeProto& node) const {
  const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, node.domain());
  if (!schema) return core::Done{};
  std::unordered_map<std::string, core::DataType> variables;
  const auto admits = [&](const std::string& name, const onnx::OpSchema::FormalParameter& formal) {
    const auto known = types_.find(name);
    if (known == types_.end() || known->second == core::DataType::kOther) return true;
    const std::string text = type_text(known->second);
    const auto& types = formal.GetTypes();
    const bool listed = std::any_of(types.begin(), types.end(),
                                    [&](const std::string* type) { return *type == text; });
    const bool is_variable =
        !formal.GetTypeStr().starts_with("tensor(") && formal.GetIsHomogeneous();
    if (!listed || !is_variable) return listed;
    return variables.emplace(formal.GetTypeStr(), known->second).first->second == known->second;
  };
  const auto check_all = [&](const auto& names, const auto& formals) -> core::Status {
    for (int k = 0; k < names.size() && !formals.empty(); ++k) {
      const auto& formal = formals[std::min(static_cast<std::size_t>(k), formals.size() - 1)];
      if (names.Get(k).empty() || admits(names.Get(k), formal)) continue;
      return core::unsupported(
          fmt::format("cannot be written for opset {}: {} has no elements of type {} there", opset_,
                      node.op_type(), core::to_string(types_.at(names.Get(k)))),
          "convert the model to a newer opset first");
    }
    return core::Done{};
  };
  SOAPSTONE_RETURN_IF_ERROR(check_all(node.input(), schema->inputs()));
  return check_all(node.output(), schema->outputs());
}

void NodeWriter::write_copy(TensorId from, const std::string& to) {
  onnx::NodeProto copy;
  copy.set_op_type("Identity");
  copy.add_input(names_.of(from));
  copy.add_output(to);
  add(std::move(copy), {});
}

void NodeWriter::add(onnx::NodeProto node, const std::string& node_name) {
  if (!node_name.empty()) {
    std::string unique = node_name;
    while (!node_names_.insert(unique).second) {
      unique = fmt::format("{}_{}", node_name, ++next_suffix_[node_name]);
    }
    node.set_name(std::move(unique));
  }
  *out_.add_node() = std::move(node);
}

std::string NodeWriter::new_constant(core::LiteralPtr value, std::string_view hint) {
  if (const std::string* known = names_.find_constant(*value)) return *known;
  std::string name = names_.fresh(hint);
  types_.emplace(name, value->data_type());
  names_.add_constant(value, name);
  weights_.push_back({std::move(value), name});
  return name;
}

core::Result<OpaqueProtos> opaque_protos(const core::Graph& graph) {
  OpaqueProtos protos;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (!ops::is_opaque(node)) continue;
    const auto broken = [&](std::string why) {
      return core::invalid_input(std::move(why)).at(describe(node));
    };
    const core::AttributeValue* attribute = node.attributes.find("proto");
    const auto* bytes = attribute ? std::get_if<std::string>(attribute) : nullptr;
    onnx::NodeProto proto;
    const QuietProtobuf quiet;
    if (!bytes || !proto.ParseFromString(*bytes) || proto.op_type().empty()) {
      return broken("the opaque node does not hold an ONNX node");
    }
    const auto inputs = static_cast<std::size_t>(proto.input_size()) + captured_names(proto).size();
    if (inputs != node.inputs.size() ||
        static_cast<std::size_t>(proto.output_size()) != node.outputs.size()) {
      return broken(fmt::format("the opaque node has {} inputs and {} outputs, but its ONNX node "
                                "has {} and {}",
                                node.inputs.size(), node.outputs.size(), inputs,
                                proto.output_size()));
    }
    protos.emplace(id, std::move(proto));
  }
  return protos;
}

}  // namespace soapstone::models
