// Names of tensors in a written model. A name that exists is kept if it can be, so that a user
// finds the tensors of the original model again.
#include <fmt/format.h>

#include "models/onnx/reading/onnx_document.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

using core::TensorId;

core::Result<TensorNames> TensorNames::assign(const core::Graph& graph, const OriginalPlan& plan,
                                              const OpaqueProtos& opaque,
                                              std::vector<std::string> declared_outputs,
                                              std::unordered_set<std::string> reserved) {
  TensorNames names;
  names.reserved_ = std::move(reserved);
  names.names_.resize(graph.tensor_bound());
  names.taken_.insert("");
  names.reserve_subgraph_names(opaque);
  names.name_inputs(graph);
  SOAPSTONE_RETURN_IF_ERROR(names.name_outputs(graph, std::move(declared_outputs)));
  names.name_constants(graph, plan);
  names.name_results(graph, plan, opaque);
  return names;
}

const std::string& TensorNames::of(TensorId id) const {
  static const std::string kNone;
  return id.valid() ? names_[id.index()] : kNone;
}

std::string TensorNames::fresh(std::string_view hint) {
  std::string name(hint.empty() ? "tensor" : hint);
  const auto take = [&](const std::string& candidate) {
    return !reserved_.contains(candidate) && taken_.insert(candidate).second;
  };
  if (take(name)) return name;
  int& suffix = next_suffix_[name];
  while (true) {
    std::string candidate = fmt::format("{}_{}", name, ++suffix);
    if (take(candidate)) return candidate;
  }
}

/// A tensor inside a subgraph hides one outside it that has the same name.
void TensorNames::reserve_subgraph_names(const OpaqueProtos& opaque) {
  for (const auto& [id, proto] : opaque) {
    for (std::string& name : subgraph_names(proto)) taken_.insert(std::move(name));
  }
}

void TensorNames::name_inputs(const core::Graph& graph) {
  for (TensorId id : graph.inputs()) {
    const std::string& own = graph.tensor(id).name;
    if (!take(graph, id)) names_[id.index()] = fresh(own.empty() ? "input" : own);
  }
}

core::Status TensorNames::name_outputs(const core::Graph& graph,
                                       std::vector<std::string> declared) {
  const bool is_declared = !declared.empty();
  if (is_declared && declared.size() != graph.outputs().size()) {
    return core::invalid_input(fmt::format("the model declares {} outputs, but the graph has {}",
                                           declared.size(), graph.outputs().size()));
  }
  outputs_ = std::move(declared);
  outputs_.resize(graph.outputs().size());
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const TensorId id = graph.outputs()[k];
    std::string& name = outputs_[k];
    if (!is_declared)
      name = fresh(graph.tensor(id).name.empty() ? "output" : graph.tensor(id).name);
    else if (of(id) == name)
      continue;  // an input that is an output under its own name
    else if (!taken_.insert(name).second) {
      return core::invalid_input(
          fmt::format("the output '{}' has the name of another tensor", name));
    }
    if (graph.tensor(id).producer.valid() && of(id).empty())
      names_[id.index()] = name;
    else
      copies_.emplace_back(id, name);
  }
  return core::Done{};
}

/// Gives the tensor its own name if that is free.
bool TensorNames::take(const core::Graph& graph, TensorId id) {
  const std::string& own = graph.tensor(id).name;
  if (!taken_.insert(own).second) return false;
  names_[id.index()] = own;
  return true;
}

void TensorNames::name_constants(const core::Graph& graph, const OriginalPlan& plan) {
  const auto add = [&](TensorId id) {
    if (!id.valid() || !graph.tensor(id).value || !of(id).empty()) return;
    const core::LiteralPtr& value = graph.tensor(id).value;
    if (const std::string* known = find_constant(*value)) {
      names_[id.index()] = *known;
      return;
    }
    if (!take(graph, id)) {
      const std::string& own = graph.tensor(id).name;
      names_[id.index()] = fresh(own.empty() ? "constant" : own);
    }
    add_constant(value, of(id));
    constants_.push_back(id);
  };
  for (core::NodeId node : graph.order()) {
    if (!plan.is_needed(node)) continue;
    const WrittenNode* original = plan.at(node);
    for (TensorId id : original ? original->inputs : graph.node(node).inputs) add(id);
  }
  for (TensorId id : graph.outputs()) add(id);
}

void TensorNames::name_results(const core::Graph& graph, const OriginalPlan& plan,
                               const OpaqueProtos& opaque) {
  const auto is_left_out = [&](core::NodeId node, std::size_t k) {
    const auto proto = opaque.find(node);
    const TensorId id = graph.node(node).outputs[k];
    return proto != opaque.end() && proto->second.output(static_cast<int>(k)).empty() &&
           graph.consumers(id).empty();
  };
  std::vector<std::pair<core::NodeId, TensorId>> nameless;
  for (core::NodeId node : graph.order()) {
    if (!plan.is_needed(node)) continue;
    const auto& outputs = graph.node(node).outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!of(outputs[k]).empty() || is_left_out(node, k)) continue;
      if (!take(graph, outputs[k])) nameless.emplace_back(node, outputs[k]);
    }
  }
  for (const auto& [node, id] : nameless) {
    const core::Node& producer = graph.node(node);
    const std::string& own = graph.tensor(id).name;
    const std::string& hint = producer.name.empty() ? producer.op->name : producer.name;
    names_[id.index()] = fresh(own.empty() ? hint : own);
  }
}

const std::string* TensorNames::find_constant(const core::Literal& value) const {
  const auto [begin, end] = by_value_.equal_range(value.hash());
  for (auto at = begin; at != end; ++at) {
    if (*at->second.first == value) return &at->second.second;
  }
  return nullptr;
}

}  // namespace soapstone::models
