// Nodes whose meaning is not understood: kept byte for byte but for the names outside them, with
// the types that ONNX's own inference or the file itself knows.
#include <fmt/format.h>

#include <unordered_set>

#include "models/onnx/reading/onnx_import.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::TensorId;
using core::TensorType;

// ONNX's inference runs without data propagation: that makes a message of every element of a long
// vector, and the values that shapes depend on are known here anyway.

/// Longer constants say nothing about shapes.
constexpr std::int64_t kLongestInferenceInput = 4096;

/// The names that the node reads, its subgraphs' captures last, each once.
std::vector<std::string> names_read(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && seen.insert(name).second) names.push_back(name);
  };
  for (const std::string& name : node.input()) add(name);
  for (const std::string& name : captured_names(node)) add(name);
  return names;
}

/// A model of that one node. None: the type of an input is not known, and without it ONNX's
/// inference is not worth asking.
std::optional<onnx::ModelProto> model_of(const ImportState& state, const onnx::NodeProto& node) {
  onnx::ModelProto model;
  for (const auto& [domain, version] : state.opsets) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  *graph.add_node() = node;
  for (const std::string& name : names_read(node)) {
    const core::Tensor& tensor = state.builder.tensor(state.tensor(name));
    if (tensor.value && tensor.value->count() <= kLongestInferenceInput) {
      *graph.add_initializer() = to_tensor_proto(*tensor.value, name);
      continue;
    }
    auto& input = *graph.add_input();
    input.set_name(name);
    const auto foreign = state.foreign_types.find(name);
    if (foreign != state.foreign_types.end())
      *input.mutable_type() = foreign->second;
    else if (tensor.type.data_type == DataType::kOther)
      return std::nullopt;
    else
      *input.mutable_type() = type_to_onnx(tensor.type);
  }
  return model;
}

TensorType settled(const onnx::TypeProto* type, const DimensionSizes& sizes) {
  if (!type) return {DataType::kOther, {}, false};
  TensorType result = type_from_onnx(*type, sizes);
  if (is_bearable(result)) return result;
  return {result.data_type, {}, false};
}

/// The type that inference found, completed by the one that the file declares.
TensorType result_type(ImportState& state, const std::string& name, const InferredTypes& inferred) {
  const auto found = inferred.find(name);
  const auto declared = state.declared_types.find(name);
  const onnx::TypeProto* best = found != inferred.end() ? &found->second : nullptr;
  const onnx::TypeProto* other =
      declared != state.declared_types.end() ? &declared->second : nullptr;
  TensorType type = settled(best, {});
  if (!type.shape_known) {
    const TensorType alternative = settled(other, state.sizes);
    const bool agrees = !best || alternative.data_type == type.data_type;
    if (agrees) type = alternative;
  }
  const onnx::TypeProto* source = best ? best : other;
  if (type.data_type == DataType::kOther && source) state.foreign_types[name] = *source;
  return type;
}

/// Names are patched when the node is written, so they must not be part of its structure.
onnx::NodeProto without_names(const onnx::NodeProto& node) {
  onnx::NodeProto bare = node;
  bare.clear_name();
  bare.clear_doc_string();
  bare.clear_metadata_props();
  for (std::string& name : *bare.mutable_input()) {
    if (!name.empty()) name = "x";
  }
  for (std::string& name : *bare.mutable_output()) {
    if (!name.empty()) name = "y";
  }
  return bare;
}

}  // namespace

core::Result<InferredTypes> infer_with_onnx(ImportState& state, const onnx::NodeProto& node) {
  InferredTypes types;
  const auto model = model_of(state, node);
  if (!model) return types;
  SOAPSTONE_ASSIGN_OR_RETURN(const auto answer, state.inference.infer(*model, false));
  // If it refuses, the node's results are of unknown shape.
  for (const auto& value : answer.graph.value_info()) types[value.name()] = value.type();
  return types;
}

core::Result<std::string> refusal_of_onnx(ImportState& state, const onnx::NodeProto& node) {
  const auto model = model_of(state, node);
  if (!model) return std::string();
  SOAPSTONE_ASSIGN_OR_RETURN(auto answer, state.inference.infer(*model, true));
  return std::move(answer.refusal);
}

core::Status import_opaque(ImportState& state, const onnx::NodeProto& node, std::string reason) {
  onnx::NodeProto bare = without_names(node);
  SOAPSTONE_RETURN_IF_ERROR(embed_external_data(bare, state.files));
  const QuietProtobuf quiet;
  std::string proto;
  if (!bare.SerializeToString(&proto)) return core::unsupported("the node is larger than 2 GB");
  core::Attributes attributes{
      {"domain", node.domain()}, {"op_type", node.op_type()}, {"proto", std::move(proto)}};
  std::vector<TensorId> inputs;
  for (const std::string& name : node.input()) inputs.push_back(state.tensor(name));
  for (const std::string& name : captured_names(node)) inputs.push_back(state.tensor(name));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto inferred, infer_with_onnx(state, node));
  std::vector<TensorType> types;
  for (const std::string& name : node.output()) types.push_back(result_type(state, name, inferred));
  const auto results = state.builder.add_node(ops::opaque_schema(), std::move(attributes),
                                              std::move(inputs), std::move(types), node.name());
  for (int k = 0; k < node.output_size(); ++k) {
    if (!node.output(k).empty()) state.bind(node.output(k), results[static_cast<std::size_t>(k)]);
  }
  if (!results.empty()) {
    state.opaque.push_back({results[0], {node.name(), qualified_op_type(node), std::move(reason)}});
  }
  return core::Done{};
}

}  // namespace soapstone::models
