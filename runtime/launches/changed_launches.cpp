// See changed_launches.h. Its notion of what may share a launch follows grow_launch() and the
// planner: a node is joined to the elementwise readers of its result, and to concats.
#include "runtime/launches/changed_launches.h"

#include <algorithm>

#include "ops/definition/registry.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

bool is_elementwise(const Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition != nullptr && definition->op_class == ops::OpClass::kElementwise;
}

/// Whether a launch that computes the tensor may go on with this reader of it, or lie in its
/// result.
bool may_meet(const Graph& graph, TensorId id, const Node& reader) {
  if (reader.op->movement == core::Movement::kJoin) return true;
  constexpr std::size_t kReadersOfGate = 2;
  return is_elementwise(reader) && graph.consumers(id).size() <= kReadersOfGate &&
         !graph.is_output(id);
}

class Changes {
 public:
  Changes(const Graph& before, const Graph& after)
      : before_(before), after_(after),
        is_marked_(std::max(before.node_bound(), after.node_bound())) {}

  ChangedNodes run() {
    for (std::size_t i = 0; i < is_marked_.size(); ++i)
      if (differs(NodeId(i))) mark(NodeId(i));
    const std::vector<NodeId> different = pending_;
    for (const Graph* graph : {&before_, &after_}) {
      for (const NodeId id : different) mark_around(*graph, id);
      mark_outputs(*graph, graph == &before_ ? after_ : before_);
    }
    while (!pending_.empty()) {
      const NodeId id = pending_.back();
      pending_.pop_back();
      for (const Graph* graph : {&before_, &after_}) mark_met(*graph, id);
    }
    return {marked_of(before_), marked_of(after_)};
  }

 private:
  bool differs(NodeId id) const {
    if (!before_.contains(id) || !after_.contains(id))
      return before_.contains(id) != after_.contains(id);
    return &before_.node(id) != &after_.node(id) ||
           before_.is_constant_expression(id) != after_.is_constant_expression(id);
  }

  void mark(NodeId id) {
    if (!id.valid() || is_marked_[id.index()]) return;
    is_marked_[id.index()] = true;
    pending_.push_back(id);
  }

  /// Marks the nodes before it, as other nodes read them in the other graph, and behind it.
  void mark_around(const Graph& graph, NodeId id) {
    if (!graph.contains(id)) return;
    for (const TensorId input : graph.node(id).inputs)
      if (input.valid()) mark(graph.tensor(input).producer);
    for (const TensorId output : graph.node(id).outputs)
      for (const NodeId reader : graph.consumers(output)) mark(reader);
  }

  void mark_outputs(const Graph& graph, const Graph& other) {
    for (const TensorId output : graph.outputs())
      if (!other.is_output(output)) mark(graph.tensor(output).producer);
  }

  void mark_met(const Graph& graph, NodeId id) {
    if (!graph.contains(id) || graph.is_constant_expression(id)) return;
    const Node& node = graph.node(id);
    for (const TensorId input : node.inputs)
      if (input.valid() && may_meet(graph, input, node)) mark(graph.tensor(input).producer);
    for (const TensorId output : node.outputs)
      for (const NodeId reader : graph.consumers(output))
        if (may_meet(graph, output, graph.node(reader))) mark(reader);
  }

  std::vector<NodeId> marked_of(const Graph& graph) const {
    std::vector<NodeId> marked;
    for (const NodeId id : graph.order())
      if (is_marked_[id.index()]) marked.push_back(id);
    return marked;
  }

  const Graph &before_, &after_;
  std::vector<bool> is_marked_;  // by node
  std::vector<NodeId> pending_;  // marked, but not looked around
};

}  // namespace

ChangedNodes changed_launches(const Graph& before, const Graph& after) {
  return Changes(before, after).run();
}

}  // namespace soapstone::runtime
