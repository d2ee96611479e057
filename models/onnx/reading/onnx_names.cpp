// Finds which node defines and which nodes read each tensor name of a graph, subgraphs included,
// and the order of nodes that follows.
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

using Names = std::unordered_set<std::string>;

/// Calls `visit` with each subgraph of a node.
template <class Node, class Visit>
void each_subgraph(Node& node, const Visit& visit) {
  if constexpr (std::is_const_v<Node>) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const auto& graph : attribute.graphs()) visit(graph);
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

/// The names that a subgraph defines at its own level.
std::vector<std::string> own_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& weight : graph.initializer()) names.push_back(weight.name());
  for (const auto& weight : graph.sparse_initializer()) names.push_back(weight.values().name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) names.push_back(output);
    }
  }
  return names;
}

/// Calls `visit` with every reference in `graph`, at any depth, to a name from outside it.
template <class Graph, class Visit>
void each_capture(Graph& graph, Names inside, const Visit& visit) {
  for (std::string& name : own_names(graph)) inside.insert(std::move(name));
  const auto refer = [&](auto& name) {
    if (!name.empty() && !inside.contains(name)) visit(name);
  };
  if constexpr (std::is_const_v<Graph>) {
    for (const auto& node : graph.node()) {
      for (const auto& input : node.input()) refer(input);
      each_subgraph(node, [&](const auto& inner) { each_capture(inner, inside, visit); });
    }
    for (const auto& output : graph.output()) refer(output.name());
  } else {
    for (auto& node : *graph.mutable_node()) {
      for (auto& input : *node.mutable_input()) refer(input);
      each_subgraph(node, [&](auto& inner) { each_capture(inner, inside, visit); });
    }
    for (auto& output : *graph.mutable_output()) refer(*output.mutable_name());
  }
}

void collect_names(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (std::string& name : own_names(graph)) names.push_back(std::move(name));
  for (const auto& node : graph.node()) {
    each_subgraph(node, [&](const auto& inner) { collect_names(inner, names); });
  }
}

/// Kahn's algorithm; among the nodes that are ready, the first of the file goes first.
class NodeOrder {
 public:
  explicit NodeOrder(const onnx::GraphProto& graph)
      : graph_(graph), waiting_for_(static_cast<std::size_t>(graph.node_size())),
        readers_(static_cast<std::size_t>(graph.node_size())),
        open_(static_cast<std::size_t>(graph.node_size())) {}

  core::Result<std::vector<int>> run() {
    SOAPSTONE_RETURN_IF_ERROR(find_definitions());
    for (int i = 0; i < graph_.node_size(); ++i) SOAPSTONE_RETURN_IF_ERROR(find_reads(i));
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < graph_.node_size(); ++i) {
      open_[index(i)] = waiting_for_[index(i)].size();
      if (open_[index(i)] == 0) ready.push(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int next = ready.top();
      ready.pop();
      order.push_back(next);
      for (int reader : readers_[index(next)]) {
        if (--open_[index(reader)] == 0) ready.push(reader);
      }
    }
    if (order.size() != index(graph_.node_size())) return cycle();
    return order;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  core::Status define(const std::string& name, int node) {
    if (name.empty())
      return core::invalid_input("an input or initializer of the graph has no name");
    if (definitions_.emplace(name, node).second) return core::Done{};
    return core::invalid_input(fmt::format("the tensor '{}' is defined twice", name));
  }

  core::Status find_definitions() {
    Names inputs;
    for (const auto& input : graph_.input()) {
      SOAPSTONE_RETURN_IF_ERROR(define(input.name(), kNoNode));
      inputs.insert(input.name());
    }
    const auto define_weight = [&](const std::string& name) -> core::Status {
      if (inputs.erase(name) > 0) return core::Done{};  // the input's default value
      return define(name, kNoNode);
    };
    for (const auto& t : graph_.initializer()) SOAPSTONE_RETURN_IF_ERROR(define_weight(t.name()));
    for (const auto& t : graph_.sparse_initializer()) {
      SOAPSTONE_RETURN_IF_ERROR(define_weight(t.values().name()));
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& output : graph_.node(i).output()) {
        if (output.empty()) continue;
        if (auto status = define(output, i); !status) {
          return status.error().at(describe(graph_.node(i)));
        }
      }
    }
    return core::Done{};
  }

  core::Status find_reads(int node) {
    const onnx::NodeProto& reader = graph_.node(node);
    std::vector<std::string> names(reader.input().begin(), reader.input().end());
    for (std::string& name : captured_names(reader)) names.push_back(std::move(name));
    std::unordered_set<int> seen;
    for (const std::string& name : names) {
      if (name.empty()) continue;
      const auto found = definitions_.find(name);
      if (found == definitions_.end()) {
        return core::invalid_input(fmt::format("reads '{}', which nothing produces", name))
            .at(describe(reader));
      }
      if (found->second == kNoNode) continue;
      if (!seen.insert(found->second).second) continue;
      waiting_for_[index(node)].push_back(found->second);
      readers_[index(found->second)].push_back(node);
    }
    return core::Done{};
  }

  /// Every node that is left waits for one that is left, so walking on comes back somewhere.
  core::Error cycle() const {
    int at = 0;
    while (open_[index(at)] == 0) ++at;
    std::vector<int> path;
    std::unordered_set<int> seen;
    while (seen.insert(at).second) {
      path.push_back(at);
      const auto& waits = waiting_for_[index(at)];
      at = *std::find_if(waits.begin(), waits.end(), [&](int i) { return open_[index(i)] > 0; });
    }
    std::string text = describe(graph_.node(at));
    for (auto i = path.rbegin();; ++i) {
      text += " -> " + describe(graph_.node(*i));
      if (*i == at) break;
    }
    return core::invalid_input("the graph has a cycle: " + text);
  }

  static constexpr int kNoNode = -1;
  const onnx::GraphProto& graph_;
  std::unordered_map<std::string, int> definitions_;
  std::vector<std::vector<int>> waiting_for_, readers_;
  std::vector<std::size_t> open_;  ///< How many nodes that it waits for are not in the order yet.
};

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  Names seen;
  each_subgraph(node, [&](const onnx::GraphProto& graph) {
    for (std::string& name : captured_names(graph))
      if (seen.insert(name).second) names.push_back(std::move(name));
  });
  return names;
}

std::vector<std::string> captured_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  Names seen;
  each_capture(graph, {}, [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  });
  return names;
}

std::vector<std::string> defined_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  collect_names(graph, names);
  return names;
}

void rename_everywhere(onnx::GraphProto& graph,
                       const std::unordered_map<std::string, std::string>& new_names) {
  const auto rename = [&](std::string& name) {
    if (const auto found = new_names.find(name); found != new_names.end()) name = found->second;
  };
  for (auto* values : {graph.mutable_input(), graph.mutable_value_info(), graph.mutable_output()})
    for (auto& value : *values) rename(*value.mutable_name());
  for (auto& weight : *graph.mutable_initializer()) rename(*weight.mutable_name());
  for (auto& weight : *graph.mutable_sparse_initializer())
    rename(*weight.mutable_values()->mutable_name());
  for (auto& note : *graph.mutable_quantization_annotation()) {
    rename(*note.mutable_tensor_name());
    for (auto& parameter : *note.mutable_quant_parameter_tensor_names())
      rename(*parameter.mutable_value());
  }
  for (auto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
    each_subgraph(node, [&](onnx::GraphProto& inner) { rename_everywhere(inner, new_names); });
  }
}

void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& new_names) {
  each_subgraph(node, [&](onnx::GraphProto& graph) {
    each_capture(graph, {}, [&](std::string& name) {
      if (const auto found = new_names.find(name); found != new_names.end()) name = found->second;
    });
  });
}

std::vector<std::string> subgraph_names(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  each_subgraph(node, [&](const onnx::GraphProto& graph) { collect_names(graph, names); });
  return names;
}

core::Result<std::vector<int>> topological_order(const onnx::GraphProto& graph) {
  return NodeOrder(graph).run();
}

}  // namespace soapstone::models
