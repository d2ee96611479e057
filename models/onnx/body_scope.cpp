// See body_scope.h.
#include "models/onnx/body_scope.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

/// A name that nothing in the file has.
std::string unused_name(const std::string& name, std::unordered_set<std::string>& taken) {
  for (int suffix = 1;; ++suffix) {
    std::string fresh = fmt::format("{}_{}", name, suffix);
    if (taken.insert(fresh).second) return fresh;
  }
}

/// Weights that are constants of the graph around the body, under the same names.
void drop_captured_weights(std::span<const TypedInput> inputs, ExportedModel& optimized) {
  std::map<std::string, core::LiteralPtr> captured;
  for (const TypedInput& input : inputs)
    if (input.value) captured.emplace(input.name, input.value);
  std::erase_if(optimized.weights, [&](const NamedWeight& weight) {
    const auto found = captured.find(weight.name);
    return found != captured.end() && *found->second == *weight.value;
  });
}

/// Notes on the shapes of tensors that are still there. New ones would tell a runtime more than it
/// knew: the shape of what a Loop stacks in no iteration follows from them.
void keep_notes(const onnx::GraphProto& before, const onnx::GraphProto& graph,
                onnx::GraphProto& body) {
  std::unordered_set<std::string> names;
  for (std::string& name : defined_names(graph)) names.insert(std::move(name));
  body.clear_value_info();
  for (const auto& value : before.value_info())
    if (names.contains(value.name())) *body.add_value_info() = value;
}

}  // namespace

onnx::GraphProto body_within(const BodyScope& scope, ExportedModel optimized) {
  onnx::GraphProto graph = std::move(*optimized.model.mutable_graph());
  graph.clear_input();
  drop_captured_weights(scope.inputs, optimized);
  for (const NamedWeight& weight : optimized.weights)
    *graph.add_initializer() = to_tensor_proto(*weight.value, weight.name);

  // A body must define no name that is there around it, even one that it does not read.
  std::unordered_set<std::string> own;
  for (std::string& name : defined_names(scope.before)) own.insert(std::move(name));
  std::unordered_map<std::string, std::string> new_names;
  for (const std::string& name : defined_names(graph)) {
    if (own.contains(name) || new_names.contains(name)) continue;
    if (!scope.taken.insert(name).second) new_names[name] = unused_name(name, scope.taken);
  }
  rename_everywhere(graph, new_names);

  onnx::GraphProto body = scope.before;
  keep_notes(scope.before, graph, body);
  body.mutable_node()->Swap(graph.mutable_node());
  body.mutable_initializer()->Swap(graph.mutable_initializer());
  body.mutable_sparse_initializer()->Swap(graph.mutable_sparse_initializer());
  body.mutable_quantization_annotation()->Swap(graph.mutable_quantization_annotation());
  for (int k = 0; k < body.output_size(); ++k)
    body.mutable_output(k)->set_name(graph.output(k).name());
  return body;
}

}  // namespace soapstone::models
