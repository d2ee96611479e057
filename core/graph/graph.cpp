// Queries on a finished graph.
#include "core/graph/graph.h"

#include <algorithm>

namespace soapstone::core {

std::span<const NodeId> Graph::consumers(TensorId id) const {
  const std::uint32_t begin = consumer_begin_[id.index()];
  return std::span(consumers_).subspan(begin, consumer_begin_[id.index() + 1] - begin);
}

bool Graph::is_output(TensorId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}

bool Graph::is_constant_expression(NodeId id) const {
  const Node& node = *nodes_[id.index()];
  return !node.outputs.empty() && constant_[node.outputs[0].index()];
}

namespace {

/// Walks two graphs from their outputs in step and pairs what must correspond. Inputs and outputs
/// are ordered, so there is only one way to pair.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b)
      : a_(a), b_(b), node_of_b_(a.node_bound()), node_of_a_(b.node_bound()) {}

  bool run() {
    if (a_.order().size() != b_.order().size()) return false;
    if (a_.outputs().size() != b_.outputs().size() || !same_inputs()) return false;
    for (std::size_t i = 0; i < a_.outputs().size(); ++i) {
      if (!pair(a_.outputs()[i], b_.outputs()[i])) return false;
    }
    while (!pending_.empty()) {
      const NodeId id = pending_.back();
      pending_.pop_back();
      if (!same_node(a_.node(id), b_.node(node_of_b_[id.index()]))) return false;
    }
    return true;
  }

 private:
  bool same_inputs() {
    if (a_.inputs().size() != b_.inputs().size()) return false;
    input_of_b_.resize(a_.tensor_bound());
    for (std::size_t i = 0; i < a_.inputs().size(); ++i) {
      const TensorId left = a_.inputs()[i], right = b_.inputs()[i];
      if (a_.tensor(left).type != b_.tensor(right).type) return false;
      input_of_b_[left.index()] = right;
    }
    return true;
  }

  bool pair(TensorId left, TensorId right) {
    if (!left.valid() || !right.valid()) return left.valid() == right.valid();
    const Tensor& a = a_.tensor(left);
    const Tensor& b = b_.tensor(right);
    if (a.local_hash != b.local_hash || a.output_index != b.output_index) return false;
    if (a.is_input()) return input_of_b_[left.index()] == right;
    if (a.value || b.value)
      return a.value && b.value && (a.value == b.value || *a.value == *b.value);
    return b.producer.valid() && pair(a.producer, b.producer);
  }

  bool pair(NodeId left, NodeId right) {
    NodeId& right_of_left = node_of_b_[left.index()];
    NodeId& left_of_right = node_of_a_[right.index()];
    if (right_of_left.valid() || left_of_right.valid()) {
      return right_of_left == right && left_of_right == left;
    }
    right_of_left = right;
    left_of_right = left;
    pending_.push_back(left);
    return true;
  }

  bool same_node(const Node& a, const Node& b) {
    if (a.local_hash != b.local_hash || (a.op != b.op && a.op->name != b.op->name)) return false;
    if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
    if (!(a.attributes == b.attributes)) return false;
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      if (a_.tensor(a.outputs[i]).type != b_.tensor(b.outputs[i]).type) return false;
    }
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      if (!pair(a.inputs[i], b.inputs[i])) return false;
    }
    return true;
  }

  const Graph& a_;
  const Graph& b_;
  std::vector<NodeId> node_of_b_, node_of_a_;
  std::vector<TensorId> input_of_b_;
  std::vector<NodeId> pending_;  // of a, paired but not compared yet
};

}  // namespace

bool same_structure(const Graph& a, const Graph& b) {
  return a.hash() == b.hash() && Comparison(a, b).run();
}

}  // namespace soapstone::core
