// See egraph.h.
#include "rules/saturation/egraph.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/hash.h"

namespace soapstone::rules {

using core::hash_combine;

namespace {

std::uint64_t hash_of(const Operation& operation) {
  std::uint64_t hash = operation.op ? operation.op->hash() : 1;
  hash = hash_combine(hash, operation.attributes.hash());
  if (operation.literal) hash = hash_combine(hash, operation.literal->hash());
  return hash_combine(hash, operation.number);
}

std::uint64_t hash_of(const core::TensorType& type) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.data_type) * 2 + (type.shape_known ? 1 : 0);
  for (const core::Size& size : type.shape) hash = hash_combine(hash, size.hash());
  return hash;
}

template <class Id>
void sort_unique(std::vector<Id>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

std::uint64_t op_bit(const core::OpSchema* op) {
  return op ? std::uint64_t{1} << (op->hash() % 64) : 0;
}

bool Operation::operator==(const Operation& other) const {
  if (op != other.op || number != other.number || !literal != !other.literal) return false;
  return attributes == other.attributes && (!literal || *literal == *other.literal);
}

EGraph::EGraph() : known_(16, Hash{this}, Equal{this}) {}

bool EGraph::Equal::operator()(ENodeId a, ENodeId b) const {
  const ENode &m = graph->nodes_[a.index()], &n = graph->nodes_[b.index()];
  return m.operation == n.operation && std::ranges::equal(graph->operands(a), graph->operands(b));
}

OperationId EGraph::intern(Operation operation) {
  operation.hash = hash_of(operation);
  const auto [begin, end] = operation_table_.equal_range(operation.hash);
  for (auto at = begin; at != end; ++at)
    if (operations_[at->second.index()] == operation) return at->second;
  const OperationId id(operations_.size());
  operation_table_.emplace(operation.hash, id);
  operations_.push_back(std::move(operation));
  return id;
}

TypeId EGraph::intern(const core::TensorType& type) {
  const std::uint64_t hash = hash_of(type);
  const auto [begin, end] = type_table_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (types_[at->second.index()] == type) return at->second;
  const TypeId id(types_.size());
  type_table_.emplace(hash, id);
  types_.push_back(type);
  return id;
}

ClassId EGraph::find(ClassId id) const {
  while (parents_[id.index()] != id) {
    ClassId& parent = parents_[id.index()];
    parent = parents_[parent.index()];
    id = parent;
  }
  return id;
}

std::span<const ClassId> EGraph::operands(ENodeId id) const {
  const ENode& node = nodes_[id.index()];
  return std::span(pool_).subspan(node.operands_begin, node.operand_count);
}

std::span<const ClassId> EGraph::results(ENodeId id) const {
  const ENode& node = nodes_[id.index()];
  return std::span(pool_).subspan(node.results_begin, node.result_count);
}

/// Operands as they are now, those of commutative operators in one order.
void EGraph::canonicalize(ENodeId id) {
  ENode& node = nodes_[id.index()];
  const auto at = std::span(pool_).subspan(node.operands_begin, node.operand_count);
  for (ClassId& operand : at)
    if (operand.valid()) operand = find(operand);
  if (node.op && node.op->commutative && at.size() >= 2 && at[1] < at[0]) std::swap(at[0], at[1]);
  node.hash = operations_[node.operation.index()].hash;
  for (ClassId operand : at) node.hash = hash_combine(node.hash, operand.value);
}

ENodeId EGraph::append(OperationId operation, std::span<const ClassId> operands) {
  const ENodeId id(nodes_.size());
  ENode node;
  node.operation = operation;
  node.op = operations_[operation.index()].op;
  node.operands_begin = static_cast<std::uint32_t>(pool_.size());
  node.operand_count = static_cast<std::uint32_t>(operands.size());
  pool_.insert(pool_.end(), operands.begin(), operands.end());
  nodes_.push_back(node);
  canonicalize(id);
  return id;
}

ClassId EGraph::new_class(TypeId type, ENodeId node) {
  const ClassId id(classes_.size());
  EClass group;
  group.nodes = {node};
  group.type = type;
  group.made_by = op_bit(nodes_[node.index()].op);
  classes_.push_back(std::move(group));
  parents_.push_back(id);
  ++live_classes_;
  return id;
}

std::span<const ClassId> EGraph::add(OperationId operation, std::span<const ClassId> operands,
                                     std::span<const TypeId> types, std::uint32_t maker) {
  const ENodeId id = append(operation, operands);
  if (const auto [at, is_new] = known_.insert(id); !is_new) {
    pool_.resize(nodes_.back().operands_begin);
    nodes_.pop_back();
    return results(*at);
  }
  ENode& node = nodes_.back();
  node.maker = maker;
  node.results_begin = static_cast<std::uint32_t>(pool_.size());
  node.result_count = static_cast<std::uint32_t>(types.size());
  ++live_nodes_;
  for (TypeId type : types) pool_.push_back(new_class(type, id));
  bool constant = node.op != nullptr && !node.op->is_opaque();
  for (ClassId operand : this->operands(id)) {
    if (!operand.valid()) continue;
    EClass& group = classes_[operand.index()];
    if (group.readers.empty() || group.readers.back() != id) group.readers.push_back(id);
    group.read_by |= op_bit(node.op);
    constant = constant && group.constant;
  }
  list_entries_ += operands.size() + types.size();
  for (ClassId result : results(id)) classes_[result.index()].constant = constant;
  return results(id);
}

ClassId EGraph::add_input(std::uint32_t number, const core::TensorType& type, bool constant) {
  Operation leaf;
  leaf.number = number + 1;
  const TypeId types[] = {intern(type)};
  const ClassId id = add(intern(std::move(leaf)), {}, types)[0];
  if (constant) make_constant(id);
  return id;
}

ClassId EGraph::add_constant(core::LiteralPtr literal) {
  const TypeId types[] = {intern({literal->data_type(), core::to_shape(literal->dims())})};
  Operation leaf;
  leaf.literal = literal;
  const ClassId id = find(add(intern(std::move(leaf)), {}, types)[0]);
  classes_[id.index()].constant = true;
  if (!classes_[id.index()].literal) classes_[id.index()].literal = std::move(literal);
  return id;
}

std::vector<ClassId> EGraph::add_graph(const core::Graph& graph, std::span<const ClassId> inputs) {
  std::vector<ClassId> classes(graph.tensor_bound());
  for (std::size_t k = 0; k < inputs.size(); ++k) classes[graph.inputs()[k].index()] = inputs[k];
  const auto class_of = [&](core::TensorId id) {
    if (!id.valid()) return ClassId::none();
    ClassId& known = classes[id.index()];
    if (!known.valid() && graph.tensor(id).value) known = add_constant(graph.tensor(id).value);
    return known;
  };
  std::vector<ClassId> operands;
  std::vector<TypeId> types;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    operands.clear();
    for (core::TensorId operand : node.inputs) operands.push_back(class_of(operand));
    while (!operands.empty() && !operands.back().valid()) operands.pop_back();
    types.clear();
    for (core::TensorId result : node.outputs) types.push_back(intern(graph.tensor(result).type));
    Operation operation{node.op, node.attributes, nullptr, 0, 0};
    if (node.op->is_opaque()) operation.number = ++opaque_nodes_;
    const auto results = add(intern(std::move(operation)), operands, types);
    for (std::size_t k = 0; k < results.size(); ++k)
      classes[node.outputs[k].index()] = find(results[k]);
  }
  for (core::TensorId id : graph.outputs()) class_of(id);
  return classes;
}

bool EGraph::merge(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b || classes_[a.index()].type != classes_[b.index()].type) return false;
  // The larger one stays, of equal ones the older one.
  const auto weight = [&](ClassId id) {
    return classes_[id.index()].nodes.size() + classes_[id.index()].readers.size();
  };
  if (weight(a) < weight(b) || (weight(a) == weight(b) && b < a)) std::swap(a, b);
  parents_[b.index()] = a;
  --live_classes_;
  EClass& into = classes_[a.index()];
  EClass from = std::move(classes_[b.index()]);
  classes_[b.index()] = {};
  into.nodes.insert(into.nodes.end(), from.nodes.begin(), from.nodes.end());
  into.readers.insert(into.readers.end(), from.readers.begin(), from.readers.end());
  to_repair_.insert(to_repair_.end(), from.readers.begin(), from.readers.end());
  into.made_by |= from.made_by;
  into.read_by |= from.read_by;
  if (!into.literal) into.literal = from.literal;
  changed_.push_back(a);
  if (into.constant != from.constant) {
    // The merged class is constant if either was, and may make readers of either constant.
    into.constant = false;
    make_constant(a);
  }
  return true;
}

/// The class and all that now follows from constants alone.
void EGraph::make_constant(ClassId id) {
  std::vector<ClassId> pending{find(id)};
  while (!pending.empty()) {
    const ClassId next = pending.back();
    pending.pop_back();
    EClass& group = classes_[next.index()];
    if (group.constant) continue;
    group.constant = true;
    changed_.push_back(next);
    for (ENodeId reader : group.readers) {
      if (nodes_[reader.index()].op->is_opaque()) continue;
      const bool all = std::ranges::all_of(
          operands(reader), [&](ClassId c) { return !c.valid() || (*this)[c].constant; });
      for (ClassId result : results(reader))
        if (all) pending.push_back(find(result));
    }
  }
}

/// Files the e-node under what its operands are now; an equal one takes its place.
void EGraph::repair(ENodeId id) {
  if (nodes_[id.index()].dead) return;
  if (const auto at = known_.find(id); at != known_.end() && *at == id) known_.erase(at);
  canonicalize(id);
  const auto [at, is_new] = known_.insert(id);
  if (is_new) return;
  const ENodeId twin = *at;
  const ENodeId kept = std::min(id, twin), lost = std::max(id, twin);
  if (kept == id) {
    known_.erase(at);
    known_.insert(id);
  }
  nodes_[lost.index()].dead = true;
  --live_nodes_;
  for (std::size_t k = 0; k < results(kept).size(); ++k) {
    merge(results(kept)[k], results(lost)[k]);
    changed_.push_back(find(results(kept)[k]));
  }
}

void EGraph::tidy(EClass& group) {
  const auto is_dead = [&](ENodeId id) { return nodes_[id.index()].dead; };
  std::erase_if(group.nodes, is_dead);
  std::erase_if(group.readers, is_dead);
  sort_unique(group.nodes);
  sort_unique(group.readers);
}

void EGraph::rebuild() {
  while (!to_repair_.empty()) {
    std::vector<ENodeId> batch;
    batch.swap(to_repair_);
    sort_unique(batch);
    for (ENodeId id : batch) repair(id);
  }
  for (ClassId& id : changed_) id = find(id);
  sort_unique(changed_);
  for (ClassId id : changed_) tidy(classes_[id.index()]);
}

std::vector<ENodeId> EGraph::take_changed() {
  std::vector<ENodeId> nodes;
  for (std::size_t k = first_new_node_; k < nodes_.size(); ++k)
    if (!nodes_[k].dead) nodes.emplace_back(k);
  first_new_node_ = nodes_.size();
  for (ClassId id : changed_) {
    const EClass& group = (*this)[id];
    nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
    nodes.insert(nodes.end(), group.readers.begin(), group.readers.end());
  }
  changed_.clear();
  sort_unique(nodes);
  return nodes;
}

std::size_t EGraph::size_bytes() const {
  constexpr std::size_t kTableEntry = 4 * sizeof(void*);
  return nodes_.capacity() * sizeof(ENode) + pool_.capacity() * sizeof(ClassId) +
         classes_.capacity() * sizeof(EClass) + parents_.capacity() * sizeof(ClassId) +
         list_entries_ * 2 * sizeof(ENodeId) + known_.size() * kTableEntry +
         operations_.size() * (sizeof(Operation) + 8 * kTableEntry) +
         types_.size() * (sizeof(core::TensorType) + 4 * sizeof(core::Size));
}

}  // namespace soapstone::rules
