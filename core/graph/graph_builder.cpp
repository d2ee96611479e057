// Adding to and rewiring a graph. Nodes and tensors are never changed in place, because the base
// graph holds the same ones: an edit replaces them by a changed copy under the same id.
#include <algorithm>

#include "core/base/hash.h"
#include "core/graph/graph.h"
#include "core/graph/graph_finisher.h"

namespace soapstone::core {
namespace {

std::uint64_t type_hash(const TensorType& type) {
  std::uint64_t hash = hash_combine(static_cast<std::uint64_t>(type.data_type),
                                    type.shape_known ? type.shape.size() : ~std::uint64_t{0});
  for (const Size& size : type.shape) hash = hash_combine(hash, size.hash());
  return hash;
}

/// A copy of a base graph's list, with room for what a rewrite adds.
template <class T>
void copy_with_room(const std::vector<T>& from, std::vector<T>& to) {
  constexpr std::size_t kRoom = 32;
  to.reserve(from.size() + kRoom);
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, SymbolTable symbols) {
  graph_.name_ = std::move(name);
  graph_.symbols_ = std::move(symbols);
  graph_.consumer_begin_ = {0};
}

GraphBuilder::GraphBuilder(const Graph& base) {
  graph_.name_ = base.name_;
  graph_.symbols_ = base.symbols_;
  copy_with_room(base.nodes_, graph_.nodes_);
  copy_with_room(base.tensors_, graph_.tensors_);
  graph_.inputs_ = base.inputs_;
  graph_.outputs_ = base.outputs_;
  graph_.consumer_begin_ = base.consumer_begin_;  // replace_uses() finds readers by these
  graph_.consumers_ = base.consumers_;
}

SymbolTable& GraphBuilder::symbols() { return graph_.symbols_; }

TensorId GraphBuilder::add_input(std::string name, TensorType type) {
  auto tensor = std::make_shared<Tensor>();
  tensor->local_hash = type_hash(type);
  tensor->type = std::move(type);
  tensor->name = std::move(name);
  const TensorId id(graph_.tensors_.size());
  graph_.tensors_.push_back(std::move(tensor));
  graph_.inputs_.push_back(id);
  return id;
}

TensorId GraphBuilder::add_constant(LiteralPtr value, std::string name) {
  CHECK(value, "constant without a value");
  auto tensor = std::make_shared<Tensor>();
  tensor->type = {value->data_type(), to_shape(value->dims()), true};
  tensor->local_hash = value->hash();
  tensor->name = std::move(name);
  tensor->value = std::move(value);
  const TensorId id(graph_.tensors_.size());
  graph_.tensors_.push_back(std::move(tensor));
  return id;
}

std::vector<TensorId> GraphBuilder::add_node(const OpSchema& op, Attributes attributes,
                                             std::vector<TensorId> inputs,
                                             std::vector<TensorType> results, std::string name) {
  for (TensorId input : inputs) {
    CHECK(!input.valid() || graph_.contains(input), "input of " + op.name + " does not exist");
  }
  const NodeId id(graph_.nodes_.size());
  auto node = std::make_shared<Node>();
  std::uint64_t hash = hash_combine(op.hash(), attributes.hash());
  std::vector<TensorId> outputs;
  outputs.reserve(results.size());
  for (TensorType& type : results) {
    auto tensor = std::make_shared<Tensor>();
    tensor->local_hash = type_hash(type);
    tensor->type = std::move(type);
    tensor->producer = id;
    tensor->output_index = static_cast<std::uint32_t>(outputs.size());
    hash = hash_combine(hash, tensor->local_hash);
    outputs.emplace_back(graph_.tensors_.size());
    graph_.tensors_.push_back(std::move(tensor));
  }
  node->op = &op;
  node->attributes = std::move(attributes);
  node->inputs = std::move(inputs);
  node->outputs = outputs;
  node->name = std::move(name);
  node->local_hash = hash;
  graph_.nodes_.push_back(std::move(node));
  touched_.push_back(id);
  return outputs;
}

void GraphBuilder::replace_uses(TensorId from, TensorId to) {
  CHECK(graph_.contains(from) && graph_.contains(to), "replace_uses of a removed tensor");
  if (from == to) return;
  for (NodeId reader : touched_) redirect_inputs(reader, from, to);
  if (from.index() + 1 < graph_.consumer_begin_.size()) {
    for (NodeId reader : graph_.consumers(from)) {
      const std::shared_ptr<const Node> before = graph_.nodes_[reader.index()];
      redirect_inputs(reader, from, to);
      if (graph_.nodes_[reader.index()] != before) touched_.push_back(reader);
    }
  }
  if (!graph_.is_output(from)) return;
  take_over_name(from, to);
  std::replace(graph_.outputs_.begin(), graph_.outputs_.end(), from, to);
}

void GraphBuilder::redirect_inputs(NodeId reader, TensorId from, TensorId to) {
  const Node& node = *graph_.nodes_[reader.index()];
  if (std::find(node.inputs.begin(), node.inputs.end(), from) == node.inputs.end()) return;
  auto edited = std::make_shared<Node>(node);
  std::replace(edited->inputs.begin(), edited->inputs.end(), from, to);
  graph_.nodes_[reader.index()] = std::move(edited);
}

void GraphBuilder::take_over_name(TensorId from, TensorId to) {
  const Tensor& target = *graph_.tensors_[to.index()];
  if (!target.producer.valid() || graph_.is_output(to)) return;
  const Tensor& source = *graph_.tensors_[from.index()];
  if (source.is_input() || source.name.empty()) return;  // an input needs its name itself
  std::string name = source.name;
  set_name(from, {});  // it may live on, as another result of a node that is still needed
  set_name(to, std::move(name));
}

void GraphBuilder::set_name(TensorId id, std::string name) {
  auto renamed = std::make_shared<Tensor>(tensor(id));
  renamed->name = std::move(name);
  graph_.tensors_[id.index()] = std::move(renamed);
}

void GraphBuilder::set_outputs(std::vector<TensorId> outputs) {
  for (TensorId output : outputs) CHECK(graph_.contains(output), "graph output does not exist");
  graph_.outputs_ = std::move(outputs);
}

void GraphBuilder::set_graph_name(std::string name) { graph_.name_ = std::move(name); }

const Tensor& GraphBuilder::tensor(TensorId id) const {
  CHECK(graph_.contains(id), "tensor was removed");
  return graph_.tensor(id);
}

const Node& GraphBuilder::node(NodeId id) const {
  CHECK(graph_.contains(id), "node was removed");
  return graph_.node(id);
}

Result<Graph> GraphBuilder::finish() && {
  SOAPSTONE_RETURN_IF_ERROR(GraphFinisher(graph_).run());
  return std::move(graph_);
}

}  // namespace soapstone::core
