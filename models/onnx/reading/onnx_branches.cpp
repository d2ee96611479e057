// An If whose condition is known when the model is read, as exporters leave behind where a shape
// decides: the branch that is taken becomes part of the graph.
#include <numeric>

#include "models/onnx/reading/onnx_import.h"

namespace soapstone::models {
namespace {

using NewNames = std::unordered_map<std::string, std::string>;

/// The condition's value, or none.
std::optional<bool> known_condition(const ImportState& state, const onnx::NodeProto& node) {
  const core::LiteralPtr& value = state.builder.tensor(state.tensor(node.input(0))).value;
  if (!value || value->count() != 1) return std::nullopt;
  const auto ints = value->to_ints();
  if (!ints) return std::nullopt;
  return ints->front() != 0;
}

/// Names that other scopes define too would clash with them one level higher.
NewNames new_names(ImportState& state, const onnx::GraphProto& branch) {
  NewNames renamed;
  const auto consider = [&](const std::string& name) {
    if (name.empty() || state.definitions[name] < 2) return;
    int suffix = 1;
    std::string fresh;
    do {
      fresh = name + "_" + std::to_string(suffix++);
    } while (state.definitions.contains(fresh));
    state.definitions[fresh] = 1;
    renamed[name] = std::move(fresh);
  };
  for (const auto& weight : branch.initializer()) consider(weight.name());
  for (const auto& weight : branch.sparse_initializer()) consider(weight.values().name());
  for (const auto& node : branch.node()) {
    for (const std::string& output : node.output()) consider(output);
  }
  return renamed;
}

void rename(onnx::GraphProto& branch, const NewNames& renamed) {
  const auto apply = [&](std::string& name) {
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  };
  for (auto& weight : *branch.mutable_initializer()) apply(*weight.mutable_name());
  for (auto& weight : *branch.mutable_sparse_initializer()) {
    apply(*weight.mutable_values()->mutable_name());
  }
  for (auto& node : *branch.mutable_node()) {
    for (std::string& name : *node.mutable_input()) apply(name);
    for (std::string& name : *node.mutable_output()) apply(name);
    rename_captured(node, renamed);
  }
  for (auto& output : *branch.mutable_output()) apply(*output.mutable_name());
  for (auto& value : *branch.mutable_value_info()) apply(*value.mutable_name());
}

core::Status import_branch(ImportState& state, onnx::GraphProto& branch) {
  for (const auto& value : branch.value_info()) state.declared_types[value.name()] = value.type();
  SOAPSTONE_RETURN_IF_ERROR(import_weights(state, branch));
  // The checker has seen that the nodes are in order.
  std::vector<int> order(static_cast<std::size_t>(branch.node_size()));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<bool> feeds = feed_shapes(branch, order);
  for (int i : order) {
    onnx::NodeProto& node = *branch.mutable_node(i);
    if (auto status = import_node(state, node, feeds[static_cast<std::size_t>(i)]); !status) {
      return status.error().at(describe(node));
    }
  }
  return core::Done{};
}

}  // namespace

core::Result<bool> import_taken_branch(ImportState& state, onnx::NodeProto& node) {
  if (!node.domain().empty() || node.op_type() != "If") return false;
  const auto condition = known_condition(state, node);
  if (!condition) return false;
  const char* taken = *condition ? "then_branch" : "else_branch";
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() != taken) continue;
    onnx::GraphProto& branch = *attribute.mutable_g();
    // A branch takes nothing; one that does is for a runtime to judge.
    if (!branch.input().empty() || branch.output_size() < node.output_size()) return false;
    rename(branch, new_names(state, branch));
    SOAPSTONE_RETURN_IF_ERROR(import_branch(state, branch));
    for (int k = 0; k < node.output_size(); ++k) {
      if (node.output(k).empty()) continue;
      state.bind(node.output(k), state.tensor(branch.output(k).name()));
    }
    return true;
  }
  return false;
}

}  // namespace soapstone::models
