// From a graph and the header of the model it came from to an ONNX model without weights: nodes
// by their mappings, everything else as the file had it.
#include "models/onnx/writing/onnx_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/onnx/format/onnx_types.h"
#include "models/onnx/reading/onnx_document.h"
#include "models/onnx/writing/device_writer.h"
#include "models/onnx/writing/onnx_export_node.h"
#include "ops/composites/composite.h"

namespace soapstone::models {
namespace {

using core::TensorId;

core::Result<onnx::ValueInfoProto> describe_type(const core::Tensor& tensor,
                                                 const std::string& name) {
  onnx::ValueInfoProto info;
  info.set_name(name);
  *info.mutable_type() = type_to_onnx(tensor.type);
  if (tensor.type.data_type == core::DataType::kOther) {
    return core::unsupported(
        fmt::format("the type of '{}' is not known, and no model declares it", name));
  }
  return info;
}

/// Sizes that the model left open become those for which the graph was made: at others it may
/// compute something else.
void settle(onnx::TypeProto& declared, const core::TensorType& type, const DimensionSizes& sizes) {
  if (!declared.has_tensor_type()) return;
  const auto dims = core::concrete(type.shape);
  const bool known = type.shape_known && dims;
  auto& tensor = *declared.mutable_tensor_type();
  if (!tensor.has_shape() && !known) return;
  auto& shape = *tensor.mutable_shape();
  const auto rank = static_cast<std::size_t>(shape.dim_size());
  if (known && rank != dims->size()) {
    shape.clear_dim();
    for (std::size_t d = 0; d < dims->size(); ++d) shape.add_dim();
  }
  for (int d = 0; d < shape.dim_size(); ++d) {
    auto& dimension = *shape.mutable_dim(d);
    const auto named = sizes.find(dimension.dim_param());
    if (known)
      dimension.set_dim_value((*dims)[static_cast<std::size_t>(d)]);
    else if (dimension.has_dim_param() && named != sizes.end())
      dimension.set_dim_value(named->second);
  }
}

/// Writes the inputs as the model declared them, in the order of the graph.
core::Status write_inputs(const core::Graph& graph, const TensorNames& names,
                          const ModelHeader& header, onnx::GraphProto& out) {
  std::map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& input : header.skeleton.graph().input()) declared[input.name()] = &input;
  out.clear_input();
  for (TensorId id : graph.inputs()) {
    const auto known = declared.find(names.of(id));
    if (known != declared.end()) {
      auto& input = *out.add_input();
      input = *known->second;
      settle(*input.mutable_type(), graph.tensor(id).type, header.sizes);
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(*out.add_input(), describe_type(graph.tensor(id), names.of(id)));
  }
  return core::Done{};
}

core::Status write_outputs(const core::Graph& graph, const TensorNames& names,
                           const DimensionSizes& sizes, onnx::GraphProto& out) {
  const bool is_declared = !out.output().empty();
  for (std::size_t k = 0; k < graph.outputs().size(); ++k) {
    const core::Tensor& tensor = graph.tensor(graph.outputs()[k]);
    if (!is_declared) {
      SOAPSTONE_ASSIGN_OR_RETURN(*out.add_output(), describe_type(tensor, names.outputs()[k]));
      continue;
    }
    // If the model did not declare a type or shape, declare the inferred one: the checker wants a
    // shape.
    auto& declared = *out.mutable_output(static_cast<int>(k))->mutable_type();
    const bool says_type = declared.value_case() != onnx::TypeProto::VALUE_NOT_SET;
    if (!says_type && tensor.type.data_type != core::DataType::kOther)
      declared = type_to_onnx(tensor.type);
    settle(declared, tensor.type, sizes);
  }
  return core::Done{};
}

/// Types of what lies between inputs and outputs, for readers without shape inference.
void write_value_info(const core::Graph& graph, const TensorNames& names, onnx::GraphProto& out) {
  const std::unordered_set<std::string> outputs(names.outputs().begin(), names.outputs().end());
  std::unordered_set<std::string> produced;
  for (const auto& node : out.node()) produced.insert(node.output().begin(), node.output().end());
  for (core::NodeId node : graph.order()) {
    for (TensorId id : graph.node(node).outputs) {
      const core::Tensor& tensor = graph.tensor(id);
      const std::string& name = names.of(id);
      const bool is_tensor = core::size_bytes(tensor.type.data_type) != 0;
      if (!is_tensor || !produced.contains(name) || outputs.contains(name)) continue;
      auto& info = *out.add_value_info();
      info.set_name(name);
      *info.mutable_type() = type_to_onnx(tensor.type);
    }
  }
}

/// Annotations of tensors that are still there, with the weights that they name.
void write_annotations(const ModelNotes& notes, ExportedModel& exported) {
  if (notes.quantization.empty()) return;
  onnx::GraphProto& graph = *exported.model.mutable_graph();
  std::unordered_set<std::string> known;
  for (std::string& name : defined_names(graph)) known.insert(std::move(name));
  std::map<std::string, core::LiteralPtr> weights;
  for (const NamedWeight& weight : exported.weights) weights.emplace(weight.name, weight.value);
  const auto exists = [&](const std::string& name) {
    return known.contains(name) || weights.contains(name);
  };
  const auto provide = [&](const auto& parameter) {
    const auto own = notes.parameters.find(parameter.value());
    if (own == notes.parameters.end()) return exists(parameter.value());
    if (known.contains(own->first)) return false;
    const auto [there, is_new] = weights.emplace(own->first, own->second);
    if (is_new) exported.weights.push_back({own->second, own->first});
    return *there->second == *own->second;
  };
  for (const onnx::TensorAnnotation& note : notes.quantization) {
    if (exists(note.tensor_name()) &&
        std::ranges::all_of(note.quant_parameter_tensor_names(), provide))
      *graph.add_quantization_annotation() = note;
  }
}

/// Operators may come from domains that the model had no use for before.
void import_domains(onnx::ModelProto& model) {
  const auto imports = [&](const std::string& domain) {
    return std::any_of(model.opset_import().begin(), model.opset_import().end(),
                       [&](const auto& import) { return import.domain() == domain; });
  };
  for (const auto& node : model.graph().node()) {
    if (imports(node.domain())) continue;
    auto& import = *model.add_opset_import();
    import.set_domain(node.domain());
    import.set_version(1);
  }
}

/// Before IR version 4, weights were inputs with a default value.
void list_weights_as_inputs(ExportedModel& exported) {
  constexpr int kLastVersion = 3;
  if (exported.model.ir_version() > kLastVersion) return;
  onnx::GraphProto& graph = *exported.model.mutable_graph();
  const auto list = [&](const std::string& name, const core::Dims& dims) -> auto& {
    auto& input = *graph.add_input();
    input.set_name(name);
    *input.mutable_type() = type_to_onnx({core::DataType::kFloat32, core::to_shape(dims), true});
    return *input.mutable_type()->mutable_tensor_type();
  };
  for (const NamedWeight& weight : exported.weights)
    list(weight.name, weight.value->dims())
        .set_elem_type(data_type_to_onnx(weight.value->data_type()));
  for (const auto& tensor : graph.initializer())
    list(tensor.name(), {tensor.dims().begin(), tensor.dims().end()})
        .set_elem_type(tensor.data_type());
}

}  // namespace

std::vector<std::string> output_names(const ModelHeader& header) {
  std::vector<std::string> names;
  for (const auto& output : header.skeleton.graph().output()) names.push_back(output.name());
  return names;
}

void drop_unread(onnx::GraphProto& graph, std::vector<NamedWeight>& weights) {
  std::unordered_set<std::string> read;
  for (const auto& output : graph.output()) read.insert(output.name());
  for (const auto& input : graph.input()) read.insert(input.name());  // has a default, maybe
  for (const auto& note : graph.quantization_annotation())
    for (const auto& parameter : note.quant_parameter_tensor_names())
      read.insert(parameter.value());
  std::vector<bool> keep(static_cast<std::size_t>(graph.node_size()));
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    keep[static_cast<std::size_t>(i)] =
        std::any_of(node.output().begin(), node.output().end(),
                    [&](const auto& name) { return read.contains(name); });
    if (!keep[static_cast<std::size_t>(i)]) continue;
    for (const std::string& name : node.input()) read.insert(name);
    for (std::string& name : captured_names(node)) read.insert(std::move(name));
  }
  auto& nodes = *graph.mutable_node();
  for (int i = 0, next = 0; i < nodes.size(); ++i) {
    if (keep[static_cast<std::size_t>(i)]) nodes.SwapElements(i, next++);
  }
  const auto kept = std::count(keep.begin(), keep.end(), true);
  nodes.DeleteSubrange(static_cast<int>(kept), nodes.size() - static_cast<int>(kept));
  std::erase_if(weights, [&](const auto& weight) { return !read.contains(weight.name); });
  auto& others = *graph.mutable_initializer();
  others.erase(std::remove_if(others.begin(), others.end(),
                              [&](const auto& weight) { return !read.contains(weight.name()); }),
               others.end());
}

std::uint64_t ExportedModel::weight_bytes() const {
  std::uint64_t sum = 0;
  for (const NamedWeight& weight : weights) sum += weight.value->bytes().size();
  for (const auto& tensor : model.graph().initializer()) sum += tensor.raw_data().size();
  return sum;
}

std::vector<core::NodeId> constants_within_originals(const core::Graph& graph,
                                                     const ModelHeader& header) {
  return constants_within_originals(graph, header.originals);
}

core::Result<ExportedModel> export_graph(const core::Graph& given, const ModelHeader& header,
                                         const WriteOptions& options) {
  const core::Graph graph = header.contrib ? given : ops::expanded(given);
  const OriginalPlan plan(graph, options.keep_original_nodes ? &header.originals : nullptr);
  SOAPSTONE_ASSIGN_OR_RETURN(const OpaqueProtos opaque, opaque_protos(graph));
  SOAPSTONE_ASSIGN_OR_RETURN(
      TensorNames names,
      TensorNames::assign(graph, plan, opaque, output_names(header), header.notes.names()));
  ExportedModel exported{header.skeleton, {}};
  exported.folded = header.folded;
  onnx::GraphProto& out = *exported.model.mutable_graph();
  if (out.name().empty()) out.set_name(graph.name().empty() ? "graph" : graph.name());
  for (TensorId id : names.constants()) {
    exported.weights.push_back({graph.tensor(id).value, names.of(id)});
  }
  for (TensorId id : graph.inputs()) {
    const auto value = header.defaults.find(names.of(id));
    if (value != header.defaults.end()) exported.weights.push_back({value->second, value->first});
  }
  std::optional<DeviceWriter> devices;
  if (options.devices != nullptr) devices.emplace(graph, names, *options.devices, exported.model);
  NodeWriter writer(graph, plan, opaque, names, exported.model, exported.weights);
  for (core::NodeId id : graph.order()) {
    const int first = out.node_size();
    SOAPSTONE_RETURN_IF_ERROR(writer.write(id));
    const WrittenNode* original = plan.at(id);
    if (opaque.contains(id) && out.node_size() > first)
      add_docs(header.notes, graph.tensor(graph.node(id).outputs.front()).name,
               *out.mutable_node(first));
    const std::vector<core::NodeId> itself = {id};
    if (devices) devices->annotate(first, original != nullptr ? original->nodes : itself);
  }
  for (const auto& [from, to] : names.copies()) writer.write_copy(from, to);
  SOAPSTONE_RETURN_IF_ERROR(write_inputs(graph, names, header, out));
  SOAPSTONE_RETURN_IF_ERROR(write_outputs(graph, names, header.sizes, out));
  drop_unread(out, exported.weights);
  write_annotations(header.notes, exported);
  write_value_info(graph, names, out);
  import_domains(exported.model);
  list_weights_as_inputs(exported);
  return exported;
}

}  // namespace soapstone::models
