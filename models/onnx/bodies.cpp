// See bodies.h. Works on the document; of the graph that was read it takes sizes and constants.
#include "models/onnx/bodies.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "models/onnx/body_scope.h"
#include "models/onnx/body_types.h"
#include "models/onnx/format/model_header.h"
#include "models/onnx/reading/onnx_document.h"
#include "models/onnx/writing/document_weights.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, std::string_view name) {
  const auto found = std::ranges::find_if(
      node.attribute(), [&](const onnx::AttributeProto& a) { return a.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}

bool has_body(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), &onnx::AttributeProto::has_g);
}

/// A body with fewer operators than two, and none in them, has nothing to gain.
bool is_trivial(const onnx::GraphProto& graph) {
  return graph.node_size() < 2 && std::ranges::none_of(graph.node(), has_body);
}

/// Reads the bodies of one node.
class NodeBodies {
 public:
  /// `tensors`: those of the graph by the names that the node knows them under.
  NodeBodies(const onnx::ModelProto& document, const onnx::NodeProto& node,
             const core::Graph& graph, const core::Node& read, const OuterTensors& outer,
             InferenceProcess& inference)
      : document_(document), node_(node), graph_(graph), outer_(outer), inference_(inference),
        results_(read.outputs) {
    std::size_t at = 0;
    for (const std::string& name : node.input()) {
      explicit_.push_back(read.inputs[at]);
      tensors_.emplace(name, read.inputs[at++]);
    }
    for (const std::string& name : captured_names(node)) tensors_.emplace(name, read.inputs[at++]);
  }

  Body read(const onnx::AttributeProto& attribute, std::vector<TypedInput>& inputs) const {
    Body body;
    body.where = fmt::format("{} of {}", attribute.name(), describe(node_));
    const auto status = read_into(body, attribute.g(), inputs);
    if (!status) body.why_not = status.error().to_string();
    for (const TypedInput& input : inputs) {
      if (input.value) continue;
      body.inputs.push_back(input.outer);
      if (input.type.has_tensor_type()) body.shapes[input.name] = input.sizes;
    }
    return body;
  }

 private:
  core::Status read_into(Body& body, const onnx::GraphProto& graph,
                         std::vector<TypedInput>& inputs) const {
    constexpr int kFirstVersion = 4;
    if (document_.ir_version() < kFirstVersion)
      return core::unsupported(
          fmt::format("in a file of IR version {} a body has no weights", document_.ir_version()));
    if (is_trivial(graph)) return core::unsupported("it has fewer than two operators");
    for (const auto& weight : graph.initializer()) {
      if (std::ranges::any_of(graph.input(),
                              [&](const auto& input) { return input.name() == weight.name(); }))
        return core::unsupported(fmt::format("its input '{}' has a default value", weight.name()));
    }
    if (!node_.domain().empty()) return not_read();
    if (node_.op_type() == "If") {
      if (!graph.input().empty()) return core::invalid_input("a branch takes no inputs");
      for (int k = 0; k < graph.output_size(); ++k) body.results.push_back(result(k));
    } else if (node_.op_type() == "Loop") {
      SOAPSTONE_RETURN_IF_ERROR(read_loop(body, graph, inputs));
    } else if (node_.op_type() == "Scan") {
      SOAPSTONE_RETURN_IF_ERROR(read_scan(body, graph, inputs));
    } else {
      return not_read();
    }
    for (const std::string& name : captured_names(graph)) {
      SOAPSTONE_ASSIGN_OR_RETURN(TypedInput input, outer_.captured(name, tensors_.at(name)));
      inputs.push_back(std::move(input));
    }
    return open_what_changes(document_, graph, body.carried, inputs, inference_);
  }

  core::Error not_read() const {
    return core::unsupported(
        fmt::format("what {} does with its bodies is not known", qualified_op_type(node_)));
  }

  /// None: nobody reads it.
  TensorId result(int k) const {
    const auto index = static_cast<std::size_t>(k);
    return k >= 0 && index < results_.size() ? results_[index] : TensorId::none();
  }

  static core::Status require_inputs(const onnx::GraphProto& graph, std::size_t count,
                                     std::size_t fewest_outputs) {
    if (static_cast<std::size_t>(graph.input_size()) == count &&
        static_cast<std::size_t>(graph.output_size()) >= fewest_outputs)
      return core::Done{};
    return core::invalid_input(fmt::format("it has {} inputs and {} outputs, but {} inputs and at "
                                           "least {} outputs are needed",
                                           graph.input_size(), graph.output_size(), count,
                                           fewest_outputs));
  }

  /// An input that the node makes: a number or a truth value.
  static TypedInput made(const onnx::ValueInfoProto& formal, int type) {
    TypedInput input{formal.name(), {}, {}, nullptr, TensorId::none()};
    auto& tensor = *input.type.mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    // A runtime gives it one dimension if the body says so.
    if (formal.type().tensor_type().shape().dim_size() != 1) return input;
    tensor.mutable_shape()->add_dim()->set_dim_value(1);
    input.sizes = {1};
    return input;
  }

  /// The input number `k` of body and node.
  core::Status add_formal(const onnx::GraphProto& graph, std::size_t k,
                          std::vector<TypedInput>& inputs) const {
    const std::string& formal = graph.input(static_cast<int>(k)).name();
    if (!explicit_[k].valid())
      return core::invalid_input(fmt::format("nothing is given for its input '{}'", formal));
    SOAPSTONE_ASSIGN_OR_RETURN(TypedInput input,
                               outer_.typed(node_.input(static_cast<int>(k)), explicit_[k]));
    input.name = formal;
    inputs.push_back(std::move(input));
    return core::Done{};
  }

  core::Status read_loop(Body& body, const onnx::GraphProto& graph,
                         std::vector<TypedInput>& inputs) const {
    constexpr std::size_t kMade = 2;  // the number of the iteration, and the condition
    if (explicit_.size() < kMade) return core::invalid_input("the node has too few inputs");
    const std::size_t states = explicit_.size() - kMade;
    SOAPSTONE_RETURN_IF_ERROR(require_inputs(graph, kMade + states, 1 + states));
    inputs.push_back(made(graph.input(0), onnx::TensorProto::INT64));
    inputs.push_back(made(graph.input(1), onnx::TensorProto::BOOL));
    for (std::size_t k = 0; k < states; ++k) {
      const std::size_t at = kMade + k;
      SOAPSTONE_RETURN_IF_ERROR(add_formal(graph, at, inputs));
      body.carried.emplace_back(at, 1 + k);
    }
    for (int k = 0; k < graph.output_size(); ++k) body.results.push_back(result(k - 1));
    if (const auto count = explicit_[0].valid() ? graph_.tensor(explicit_[0]).value : nullptr) {
      const auto numbers = count->to_ints();
      if (numbers && numbers->size() == 1)
        body.runs = std::max(0.0, static_cast<double>(numbers->front()));
    }
    return core::Done{};
  }

  core::Status read_scan(Body& body, const onnx::GraphProto& graph,
                         std::vector<TypedInput>& inputs) const {
    constexpr int kFirstOpset = 9;  // before, it had lengths of sequences and batches
    if (default_opset(document_) < kFirstOpset) return not_read();
    const auto* count = attribute_of(node_, "num_scan_inputs");
    const auto slices = static_cast<std::size_t>(count ? std::max<std::int64_t>(count->i(), 0) : 0);
    if (slices == 0 || slices > explicit_.size())
      return core::invalid_input("the node does not say over how many of its inputs it goes");
    const std::size_t states = explicit_.size() - slices;
    SOAPSTONE_RETURN_IF_ERROR(require_inputs(graph, explicit_.size(), states));
    for (std::size_t k = 0; k < explicit_.size(); ++k) {
      SOAPSTONE_RETURN_IF_ERROR(add_formal(graph, k, inputs));
      if (k < states)
        body.carried.emplace_back(k, k);
      else
        SOAPSTONE_RETURN_IF_ERROR(take_slice(k - states, body, inputs.back()));
    }
    for (int k = 0; k < graph.output_size(); ++k) body.results.push_back(result(k));
    return core::Done{};
  }

  /// The body gets the input without the axis over which the node goes.
  core::Status take_slice(std::size_t slice, Body& body, TypedInput& input) const {
    const auto* axes = attribute_of(node_, "scan_input_axes");
    const auto rank = static_cast<std::int64_t>(input.sizes.size());
    std::int64_t axis = 0;
    if (axes != nullptr && slice < static_cast<std::size_t>(axes->ints_size()))
      axis = axes->ints(static_cast<int>(slice));
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      return core::invalid_input(
          fmt::format("the node goes over an axis that '{}' does not have", input.name));
    body.runs = static_cast<double>(input.sizes[static_cast<std::size_t>(axis)]);
    input.sizes.erase(input.sizes.begin() + axis);
    auto& dims = *input.type.mutable_tensor_type()->mutable_shape()->mutable_dim();
    dims.erase(dims.begin() + static_cast<int>(axis));
    return core::Done{};
  }

  const onnx::ModelProto& document_;
  const onnx::NodeProto& node_;
  const core::Graph& graph_;
  const OuterTensors& outer_;
  InferenceProcess& inference_;
  const std::vector<TensorId> results_;
  std::vector<TensorId> explicit_;           // what the node's inputs are; none if left out
  std::map<std::string, TensorId> tensors_;  // what it reads, by name
};

/// The opaque nodes of the graph by their named results.
std::map<std::string, core::NodeId> opaque_by_result(const core::Graph& graph) {
  std::map<std::string, core::NodeId> nodes;
  for (const core::NodeId id : graph.order()) {
    if (!ops::is_opaque(graph.node(id))) continue;
    for (const TensorId output : graph.node(id).outputs)
      if (!graph.tensor(output).name.empty()) nodes.emplace(graph.tensor(output).name, id);
  }
  return nodes;
}

/// Calls `visit` with each name that a node reads in the graph, or in a body in it, or that is a
/// result of one.
void each_read(const onnx::GraphProto& graph,
               const std::function<void(const std::string&)>& visit) {
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.input()) visit(name);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) each_read(attribute.g(), visit);
  }
  for (const auto& output : graph.output()) visit(output.name());
}

/// Weights of the document that only the body has read, as it was before.
void drop_unread_weights(const onnx::GraphProto& before, ExportedModel& document) {
  std::unordered_set<std::string> unread;
  for (std::string& name : captured_names(before)) unread.insert(std::move(name));
  const onnx::GraphProto& graph = document.model.graph();
  each_read(graph, [&](const std::string& name) { unread.erase(name); });
  for (const auto& input : graph.input()) unread.erase(input.name());
  for (const auto& note : graph.quantization_annotation()) {
    unread.erase(note.tensor_name());
    for (const auto& parameter : note.quant_parameter_tensor_names())
      unread.erase(parameter.value());
  }
  std::erase_if(document.weights,
                [&](const NamedWeight& weight) { return unread.contains(weight.name); });
}

/// A size that one model leaves open and the other does not, or empty.
std::string fixed_size(const onnx::GraphProto& open, const onnx::GraphProto& other) {
  std::map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& input : other.input()) declared[input.name()] = &input;
  for (const auto& input : open.input()) {
    const auto found = declared.find(input.name());
    if (found == declared.end()) return input.name();
    const auto& before = input.type().tensor_type().shape();
    const auto& after = found->second->type().tensor_type().shape();
    for (int d = 0; d < before.dim_size(); ++d) {
      if (before.dim(d).has_dim_value()) continue;
      if (d >= after.dim_size() || after.dim(d).has_dim_value())
        return fmt::format("dimension {} of '{}'", d, input.name());
    }
  }
  return {};
}

core::Status import_domains_of(const onnx::ModelProto& from, onnx::ModelProto& to) {
  const auto known = opsets_of(to);
  for (const auto& import : from.opset_import()) {
    const auto found = known.find(import.domain());
    if (found == known.end())
      *to.add_opset_import() = import;
    else if (found->second != import.version())
      return core::unsupported(fmt::format("it needs version {} of the operators of '{}', and the "
                                           "model has {}",
                                           import.version(), import.domain(), found->second));
  }
  return core::Done{};
}

}  // namespace

bool has_bodies(const core::Node& node) {
  if (!ops::is_opaque(node)) return false;
  const core::AttributeValue* attribute = node.attributes.find("proto");
  const auto* bytes = attribute ? std::get_if<std::string>(attribute) : nullptr;
  onnx::NodeProto proto;
  const QuietProtobuf quiet;
  return bytes && proto.ParseFromString(*bytes) && has_body(proto);
}

struct BodyDocument::State {
  /// A body's place in the document, and the inputs of its model.
  struct Place {
    int node = 0, attribute = 0;
    std::vector<TypedInput> inputs;
  };

  ExportedModel document;
  std::vector<Body> bodies;
  std::vector<Place> places;  ///< Of each body.
  std::unordered_set<std::string> taken;

  const onnx::GraphProto& graph_of(const Place& place) const {
    return document.model.graph().node(place.node).attribute(place.attribute).g();
  }
};

BodyDocument::BodyDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
BodyDocument::BodyDocument(BodyDocument&&) noexcept = default;
BodyDocument::~BodyDocument() = default;

core::Result<BodyDocument> BodyDocument::read(const std::filesystem::path& path,
                                              const core::Graph& graph) {
  auto state = std::make_unique<State>();
  SOAPSTONE_ASSIGN_OR_RETURN(state->document, read_document(path));
  onnx::ModelProto& model = state->document.model;
  SOAPSTONE_RETURN_IF_ERROR(inline_functions(model));
  for (std::string& name : defined_names(model.graph())) state->taken.insert(std::move(name));
  for (const NamedWeight& weight : state->document.weights) state->taken.insert(weight.name);
  InferenceProcess inference;
  std::optional<OuterTensors> outer;
  const auto opaque = opaque_by_result(graph);
  for (int n = 0; n < model.graph().node_size(); ++n) {
    const onnx::NodeProto& node = model.graph().node(n);
    if (!has_body(node)) continue;
    const auto named = std::ranges::find_if(
        node.output(), [&](const std::string& output) { return opaque.contains(output); });
    if (named == node.output().end()) continue;  // nobody reads it, or its condition is known
    if (!outer) {
      SOAPSTONE_ASSIGN_OR_RETURN(OuterTensors made,
                                 OuterTensors::make(state->document, graph, inference));
      outer.emplace(std::move(made));
    }
    const NodeBodies bodies(model, node, graph, graph.node(opaque.at(*named)), *outer, inference);
    for (int a = 0; a < node.attribute_size(); ++a) {
      if (!node.attribute(a).has_g()) continue;
      State::Place place{n, a, {}};
      state->bodies.push_back(bodies.read(node.attribute(a), place.inputs));
      state->places.push_back(std::move(place));
    }
  }
  return BodyDocument(std::move(state));
}

const std::vector<Body>& BodyDocument::bodies() const { return state_->bodies; }

core::Status BodyDocument::write_body(std::size_t body, const std::filesystem::path& path) const {
  const State::Place& place = state_->places[body];
  return write_document(
      model_of_body(state_->document.model, state_->graph_of(place), place.inputs), path);
}

core::Status BodyDocument::put_back(std::size_t body, const std::filesystem::path& optimized) {
  const State::Place& place = state_->places[body];
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel result, read_document(optimized));
  const onnx::GraphProto& before = state_->graph_of(place);
  const auto asked = model_of_body(state_->document.model, before, place.inputs);
  if (const std::string fixed = fixed_size(asked.model.graph(), result.model.graph());
      !fixed.empty())
    return core::unsupported(fmt::format("what was found holds for one size of {} alone", fixed));
  SOAPSTONE_RETURN_IF_ERROR(import_domains_of(result.model, state_->document.model));
  onnx::GraphProto now = body_within({before, place.inputs, state_->taken}, std::move(result));
  state_->document.model.mutable_graph()
      ->mutable_node(place.node)
      ->mutable_attribute(place.attribute)
      ->mutable_g()
      ->Swap(&now);
  drop_unread_weights(now, state_->document);
  return core::Done{};
}

core::Status BodyDocument::write(const std::filesystem::path& path) const {
  return write_exported(state_->document, state_->document.had_external_weights, path,
                        kMostEmbeddedBytes);
}

}  // namespace soapstone::models
