// From a model file to a graph: the steps in their order. Every step checks what it reads, so that
// the ones after it may rely on it.
#include "models/onnx/reading/onnx_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "models/onnx/format/model_header.h"
#include "ops/composites/composite.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;

/// Before it every weight was an input with a default value, and could not be given.
constexpr int kFirstVersionOfDefaults = 4;

struct DefaultInputs {
  std::unordered_set<std::string> kept;
  std::vector<std::string> dropped;  ///< Constants since sizes depend on them, or for their type.
};

/// Whether the default is a tensor of the type that is declared, and can be held.
bool is_usable(const onnx::ValueInfoProto& input, const onnx::TensorProto* value) {
  return value != nullptr && fits_literal(*value) && input.type().has_tensor_type() &&
         input.type().tensor_type().elem_type() == value->data_type();
}

/// Takes inputs with a default value out of the list of inputs if they are to be constants. The
/// others may be given another value when the model runs.
DefaultInputs drop_default_inputs(onnx::ModelProto& model, std::span<const int> order,
                                  const ImportOptions& options) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::unordered_map<std::string, const onnx::TensorProto*> weights;
  for (const auto& weight : graph.initializer()) weights[weight.name()] = &weight;
  for (const auto& weight : graph.sparse_initializer()) weights[weight.values().name()] = nullptr;
  const bool may_stay =
      !options.fold_default_inputs && model.ir_version() >= kFirstVersionOfDefaults;
  const auto parameters = shape_parameters(graph, order);
  DefaultInputs defaults;
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const auto& input) {
                                const auto weight = weights.find(input.name());
                                if (weight == weights.end()) return false;
                                const bool stays = may_stay && !parameters.contains(input.name()) &&
                                                   is_usable(input, weight->second);
                                if (stays) defaults.kept.insert(input.name());
                                if (!stays && may_stay) defaults.dropped.push_back(input.name());
                                return !stays;
                              }),
               inputs.end());
  return defaults;
}

void warn_of_defaults(const std::vector<std::string>& dropped, ImportState& state) {
  if (dropped.empty()) return;
  constexpr std::size_t kMostNamed = 3;
  const std::size_t named = std::min(dropped.size(), kMostNamed);
  state.warnings.push_back(fmt::format(
      "inputs whose default value decides on sizes, or is of a type that is not understood, are "
      "taken for constants, and a rewritten model has no such input: {}{}",
      fmt::join(dropped.begin(), dropped.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      dropped.size() > named ? fmt::format(" and {} more", dropped.size() - named) : ""));
}

core::Status read_defaults(ImportState& state) {
  for (auto& tensor : *state.model.mutable_graph()->mutable_initializer()) {
    if (!state.default_inputs.contains(tensor.name())) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(state.defaults[tensor.name()], to_literal(tensor, state.files));
  }
  return core::Done{};
}

/// Weights that no Literal can hold are nodes until they are written.
template <class Set>
core::Status import_weight_as_node(ImportState& state, const std::string& name, const Set& set) {
  onnx::NodeProto node;
  node.set_op_type("Constant");
  node.add_output(name);
  set(*node.add_attribute());
  node.mutable_attribute(0)->set_doc_string(kWeightMark);
  SOAPSTONE_RETURN_IF_ERROR(import_opaque(state, node, "elements of this type are not understood"));
  state.opaque.back().second.name = name;
  return core::Done{};
}

bool has_open_sizes(const onnx::ValueInfoProto& input) {
  return std::ranges::any_of(input.type().tensor_type().shape().dim(), [](const auto& dimension) {
    return !dimension.has_dim_value() || dimension.dim_value() < 0;
  });
}

core::Status import_inputs(ImportState& state, ImportOptions options) {
  const auto& graph = state.model.graph();
  SOAPSTONE_RETURN_IF_ERROR(read_defaults(state));
  for (const auto& [name, value] : state.defaults) options.shapes.emplace(name, value->dims());
  SOAPSTONE_ASSIGN_OR_RETURN(SettledInputs inputs, settle_inputs(graph, options));
  state.sizes = std::move(inputs.sizes);
  if (std::ranges::any_of(graph.input(), has_open_sizes))
    state.folded = std::make_shared<FoldedNodes>();
  std::ranges::move(inputs.warnings, std::back_inserter(state.warnings));
  for (int i = 0; i < graph.input_size(); ++i) {
    const auto& input = graph.input(i);
    core::TensorType& type = inputs.types[static_cast<std::size_t>(i)];
    if (!is_bearable(type)) {
      return core::invalid_input(fmt::format("the input '{}' is too large", input.name()));
    }
    if (type.data_type == core::DataType::kOther) state.foreign_types[input.name()] = input.type();
    const auto value = state.defaults.find(input.name());
    if (value != state.defaults.end() && type.shape != core::to_shape(value->second->dims())) {
      return core::invalid_input(
          fmt::format("the default value of the input '{}' has the shape {}, but the input has {}",
                      input.name(), core::to_string(value->second->dims()),
                      core::to_string(type.shape, {})),
          "`fold_default_inputs` makes a constant of it");
    }
    state.bind(input.name(), state.builder.add_input(input.name(), std::move(type)));
  }
  return core::Done{};
}

core::Status import_nodes(ImportState& state, const std::vector<int>& order) {
  auto& graph = *state.model.mutable_graph();
  const std::vector<bool> feeds = feed_shapes(graph, order);
  for (int index : order) {
    onnx::NodeProto& node = *graph.mutable_node(index);
    const bool needed = feeds[static_cast<std::size_t>(index)];
    if (auto status = import_node(state, node, needed); !status) {
      return status.error().at(describe(node));
    }
  }
  return core::Done{};
}

core::Status set_outputs(ImportState& state) {
  const auto& graph = state.model.graph();
  if (graph.output().empty()) return core::invalid_input("the graph has no outputs");
  std::vector<TensorId> outputs;
  std::unordered_set<std::string> names;
  for (const auto& output : graph.output()) {
    if (!state.tensors.contains(output.name())) {
      return core::invalid_input(
          fmt::format("nothing produces the graph's output '{}'", output.name()));
    }
    if (!names.insert(output.name()).second) {
      return core::invalid_input(fmt::format("the output '{}' is listed twice", output.name()));
    }
    outputs.push_back(state.tensor(output.name()));
  }
  state.builder.set_outputs(std::move(outputs));
  return core::Done{};
}

void declare_types(ImportState& state) {
  for (const auto& value : state.model.graph().value_info()) {
    state.declared_types[value.name()] = value.type();
  }
  for (const auto& output : state.model.graph().output()) {
    state.declared_types.emplace(output.name(), output.type());
  }
}

void count_definitions(ImportState& state) {
  const auto& graph = state.model.graph();
  for (const auto& input : graph.input()) ++state.definitions[input.name()];
  for (const auto& weight : graph.initializer())
    if (!state.default_inputs.contains(weight.name())) ++state.definitions[weight.name()];
  for (const auto& weight : graph.sparse_initializer()) {
    ++state.definitions[weight.values().name()];
  }
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) ++state.definitions[output];
    for (const std::string& name : subgraph_names(node)) ++state.definitions[name];
  }
}

void prepare_checker(ImportState& state, const std::filesystem::path& directory) {
  state.checker.set_ir_version(static_cast<int>(state.model.ir_version()));
  state.checker.set_opset_imports(state.opsets);
  state.checker.set_model_dir(directory.string());
}

std::shared_ptr<ModelHeader> make_header(ImportState& state) {
  onnx::ModelProto skeleton = std::move(state.model);
  onnx::GraphProto& graph = *skeleton.mutable_graph();
  graph.clear_node();
  graph.clear_initializer();
  graph.clear_sparse_initializer();
  graph.clear_value_info();
  graph.clear_quantization_annotation();  // in the notes: tensors may be gone
  if (!skeleton.training_info().empty()) {
    state.warnings.emplace_back("training information is not kept");
    skeleton.clear_training_info();
  }
  auto header = std::make_shared<ModelHeader>(std::move(skeleton), state.files.any());
  header->sizes = state.sizes;
  header->notes = std::move(state.notes);
  header->folded = state.folded;
  return header;
}

/// The original nodes that are still there; those that no output needs are gone.
OriginalNodes original_nodes(ImportState& state, const core::Graph& graph) {
  OriginalNodes originals{graph, {}};
  for (OriginalNode& original : state.originals) {
    if (std::any_of(original.nodes.begin(), original.nodes.end(),
                    [&](core::NodeId id) { return graph.contains(id); }))
      originals.nodes.push_back(std::move(original));
  }
  return originals;
}

core::Result<OnnxModel> finish(ImportState& state) {
  const int opset = default_opset(state.model);
  state.builder.set_graph_name(state.model.graph().name());
  SOAPSTONE_ASSIGN_OR_RETURN(core::Graph graph, std::move(state.builder).finish());
  const std::shared_ptr<ModelHeader> header = make_header(state);
  header->originals = original_nodes(state, graph);
  header->defaults = state.defaults;
  OnnxModel model{std::move(graph), header, {}, {}, opset, state.files.paths(), {}};
  for (const TensorId id : model.graph.inputs()) {
    const auto value = state.defaults.find(model.graph.tensor(id).name);
    model.defaults.push_back(value == state.defaults.end() ? nullptr : value->second);
  }
  for (auto& [result, node] : state.opaque) {
    if (model.graph.contains(result)) model.opaque_nodes.push_back(std::move(node));
  }
  model.warnings = std::move(state.warnings);
  return model;
}

/// `directories`: where external weights may lie; the first is the model's own.
core::Result<OnnxModel> import_model(std::string_view bytes, const ImportOptions& options,
                                     std::vector<std::filesystem::path> directories) {
  const std::filesystem::path directory = directories.empty() ? "" : directories[0];
  SOAPSTONE_ASSIGN_OR_RETURN(onnx::ModelProto document, parse_document(bytes));
  SOAPSTONE_RETURN_IF_ERROR(inline_functions(document));
  // Before inputs with defaults go, so that two definitions of a name are still seen.
  SOAPSTONE_ASSIGN_OR_RETURN(const auto order, topological_order(document.graph()));
  DefaultInputs defaults = drop_default_inputs(document, order, options);

  const bool contrib_assumed = import_contrib_domain(document);
  ImportState state(std::move(document), ExternalFiles(std::move(directories)));
  if (contrib_assumed)
    state.warnings.push_back(fmt::format("operators of {} are read in version 1, as the model does "
                                         "not import that domain",
                                         ops::kContribDomain));
  warn_of_defaults(defaults.dropped, state);
  state.default_inputs = std::move(defaults.kept);
  prepare_checker(state, directory);
  declare_types(state);
  count_definitions(state);
  SOAPSTONE_ASSIGN_OR_RETURN(state.notes, notes_of(state.model.graph(), state.files));
  SOAPSTONE_RETURN_IF_ERROR(import_inputs(state, options));
  SOAPSTONE_RETURN_IF_ERROR(import_weights(state, *state.model.mutable_graph()));
  SOAPSTONE_RETURN_IF_ERROR(import_nodes(state, order));
  SOAPSTONE_RETURN_IF_ERROR(set_outputs(state));
  return finish(state);
}

}  // namespace

core::Status import_weights(ImportState& state, onnx::GraphProto& graph) {
  for (auto& tensor : *graph.mutable_initializer()) {
    if (&graph == state.model.mutable_graph() && state.default_inputs.contains(tensor.name()))
      continue;
    if (!fits_literal(tensor)) {
      SOAPSTONE_RETURN_IF_ERROR(import_weight_as_node(state, tensor.name(), [&](auto& attribute) {
        attribute.set_name("value");
        attribute.set_type(onnx::AttributeProto::TENSOR);
        *attribute.mutable_t() = tensor;
      }));
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(auto literal, to_literal(tensor, state.files));
    state.bind(tensor.name(), state.builder.add_constant(std::move(literal)));
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    SOAPSTONE_RETURN_IF_ERROR(
        import_weight_as_node(state, tensor.values().name(), [&](auto& attribute) {
          attribute.set_name("sparse_value");
          attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
          *attribute.mutable_sparse_tensor() = tensor;
        }));
  }
  return core::Done{};
}

TensorId ImportState::tensor(const std::string& name) const {
  if (name.empty()) return TensorId::none();
  const auto found = tensors.find(name);
  CHECK(found != tensors.end(), "names are checked before nodes are read: " + name);
  return found->second;
}

void ImportState::bind(const std::string& name, TensorId id) {
  tensors[name] = id;
  scope.add(name);
  if (builder.tensor(id).name.empty()) builder.set_name(id, name);
}

core::Result<OnnxModel> parse_onnx(std::string_view bytes, const ImportOptions& options,
                                   const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> directories;
  if (!directory.empty()) directories.push_back(directory);
  return import_model(bytes, options, std::move(directories));
}

core::Result<OnnxModel> read_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::MappedFile::open(path));
  auto model = import_model(file->text(), options, weight_folders(path));
  if (!model) return model.error().at(path.string());
  return model;
}

}  // namespace soapstone::models
