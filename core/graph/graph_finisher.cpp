// See graph_finisher.h. The order of nodes is by id, except that a node which another one needs
// comes right before it; so a graph that was built in topological order keeps its order, and new
// nodes stand where the ones they replace stood.
#include "core/graph/graph_finisher.h"

#include "core/base/hash.h"

namespace soapstone::core {
namespace {

// Seeds that tell hashes of inputs, constants and left-out operands apart.
constexpr std::uint64_t kInput = 1, kConstant = 2, kLeftOut = 3;
// Tells the results of a node apart; their readers mix them.
constexpr std::uint64_t kOutput = 0x9e3779b185ebca87u;

}  // namespace

Status GraphFinisher::run() {
  gather();
  mark_live();
  SOAPSTONE_RETURN_IF_ERROR(order());
  list_consumers();
  remove_dead();
  find_constants();
  hash();
  return Done{};
}

void GraphFinisher::gather() {
  facts_.resize(graph_.nodes_.size());
  inputs_.reserve(2 * graph_.nodes_.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const Node* node = graph_.nodes_[i].get();
    if (!node) continue;
    Facts& facts = facts_[i];
    facts.local_hash = node->local_hash;
    facts.inputs_begin = static_cast<std::uint32_t>(inputs_.size());
    inputs_.insert(inputs_.end(), node->inputs.begin(), node->inputs.end());
    facts.inputs_end = static_cast<std::uint32_t>(inputs_.size());
    facts.output_count = static_cast<std::uint32_t>(node->outputs.size());
    if (facts.output_count != 0) facts.first_output = node->outputs[0].value;  // numbered in a row
    facts.opaque = node->op->is_opaque();
  }
  const std::size_t tensors = graph_.tensors_.size();
  producers_.resize(tensors);
  meaning_.resize(tensors);
  graph_.constant_.assign(tensors, false);
  for (std::size_t i = 0; i < tensors; ++i) {
    const Tensor* tensor = graph_.tensors_[i].get();
    if (!tensor) continue;
    producers_[i] = tensor->producer;
    if (!tensor->value) continue;
    meaning_[i] = hash_combine(kConstant, tensor->local_hash);
    graph_.constant_[i] = true;
  }
}

void GraphFinisher::mark_live() {
  std::vector<NodeId> pending;
  pending.reserve(64);
  const auto need = [&](TensorId tensor) {
    const NodeId maker = producer(tensor);
    if (!maker.valid() || facts(maker).mark != Mark::kDead) return;
    facts(maker).mark = Mark::kLive;
    pending.push_back(maker);
  };
  for (TensorId output : graph_.outputs_) need(output);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    for (TensorId input : inputs(facts(id))) need(input);
  }
}

Status GraphFinisher::order() {
  graph_.order_.clear();
  graph_.order_.reserve(facts_.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (facts_[i].mark == Mark::kLive) SOAPSTONE_RETURN_IF_ERROR(visit(NodeId(i)));
  }
  return Done{};
}

Status GraphFinisher::visit(NodeId root) {
  facts(root).mark = Mark::kOpen;
  path_.push_back({root, facts(root).inputs_begin});
  while (!path_.empty()) {
    Visit& here = path_.back();
    if (here.next_input == facts(here.node).inputs_end) {
      facts(here.node).mark = Mark::kOrdered;
      graph_.order_.push_back(here.node);
      path_.pop_back();
      continue;
    }
    const NodeId maker = producer(inputs_[here.next_input++]);
    if (!maker.valid() || facts(maker).mark == Mark::kOrdered) continue;
    if (facts(maker).mark == Mark::kOpen) return cycle(maker);
    facts(maker).mark = Mark::kOpen;
    path_.push_back({maker, facts(maker).inputs_begin});  // `here` is invalid from now on
  }
  return Done{};
}

Error GraphFinisher::cycle(NodeId repeated) const {
  const auto describe = [&](NodeId id) {
    const Node& node = *graph_.nodes_[id.index()];
    return node.op->name +
           (node.name.empty() ? " #" + std::to_string(id.value) : " `" + node.name + "`");
  };
  std::string text = describe(repeated);
  for (std::size_t i = path_.size(); i-- > 0;) {
    text += " -> " + describe(path_[i].node);  // from a node to its readers
    if (path_[i].node == repeated) break;
  }
  return invalid_input("the graph has a cycle: " + text);
}

void GraphFinisher::list_consumers() {
  // Counting sort by tensor. `last` keeps a node that reads a tensor twice from counting twice.
  std::vector<NodeId> last(producers_.size());
  const auto each_read = [&](auto found) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (facts_[i].mark == Mark::kDead) continue;
      for (TensorId input : inputs(facts_[i])) {
        if (!input.valid() || last[input.index()] == NodeId(i)) continue;
        last[input.index()] = NodeId(i);
        found(input.index(), NodeId(i));
      }
    }
  };
  std::vector<std::uint32_t>& begin = graph_.consumer_begin_;
  begin.assign(producers_.size() + 1, 0);
  each_read([&](std::size_t tensor, NodeId) { ++begin[tensor + 1]; });
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  graph_.consumers_.resize(begin.back());
  last.assign(last.size(), NodeId::none());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  each_read([&](std::size_t tensor, NodeId id) { graph_.consumers_[next[tensor]++] = id; });
}

void GraphFinisher::remove_dead() {
  // Results live as long as their node, constants as long as someone reads them, inputs forever.
  for (std::size_t i = 0; i < producers_.size(); ++i) {
    const TensorId id(i);
    const bool dead = producers_[i].valid() ? facts(producers_[i]).mark == Mark::kDead
                                            : graph_.constant_[i] && graph_.consumers(id).empty() &&
                                                  !graph_.is_output(id);
    if (!dead) continue;
    graph_.tensors_[i].reset();
    graph_.constant_[i] = false;
  }
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (facts_[i].mark == Mark::kDead) graph_.nodes_[i].reset();
  }
}

void GraphFinisher::find_constants() {
  for (NodeId id : graph_.order_) {
    const Facts& node = facts(id);
    bool constant = !node.opaque;
    for (TensorId input : inputs(node)) {
      constant = constant && (!input.valid() || graph_.constant_[input.index()]);
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      graph_.constant_[node.first_output + i] = constant;
    }
  }
}

std::uint64_t GraphFinisher::hash_inputs() {
  std::uint64_t total = graph_.inputs_.size();
  for (std::size_t i = 0; i < graph_.inputs_.size(); ++i) {
    const std::size_t at = graph_.inputs_[i].index();
    meaning_[at] = hash_combine(hash_combine(kInput, i), graph_.tensors_[at]->local_hash);
    total = hash_combine(total, meaning_[at]);
  }
  return total;
}

void GraphFinisher::hash() {
  std::uint64_t total = hash_inputs();
  // Outputs alone would not tell a result that is shared from one that is computed twice, and
  // these cost differently; so all nodes count, as a sum because they have no order.
  std::uint64_t nodes = 0;
  for (NodeId id : graph_.order_) {
    const Facts& node = facts(id);
    std::uint64_t hash = node.local_hash;
    for (TensorId input : inputs(node)) {
      hash = hash_combine(hash, input.valid() ? meaning_[input.index()] : kLeftOut);
    }
    nodes += hash;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      meaning_[node.first_output + i] = hash + i * kOutput;
    }
  }
  for (TensorId output : graph_.outputs_) total = hash_combine(total, meaning_[output.index()]);
  graph_.hash_ = hash_combine(total, nodes);
}

}  // namespace soapstone::core
