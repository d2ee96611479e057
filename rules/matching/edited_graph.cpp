// See edited_graph.h. It does to what changes what core::GraphFinisher does to the whole graph.
#include "rules/matching/edited_graph.h"

#include <algorithm>
#include <utility>

namespace soapstone::rules {

bool EditedGraph::contains(TensorId id) const {
  const auto known = changed_.find(id);
  if (known != changed_.end()) return !known->second.is_dead;
  return base_.contains(id);
}

std::span<const NodeId> EditedGraph::consumers(TensorId id) const {
  const auto known = changed_.find(id);
  return known != changed_.end() ? known->second.consumers : base_.consumers(id);
}

bool EditedGraph::is_constant_expression(TensorId id) const {
  const auto known = changed_.find(id);
  return known != changed_.end() ? known->second.is_constant : base_.is_constant_expression(id);
}

EditedGraph::State& EditedGraph::state_of(TensorId id) {
  const auto [at, is_new] = changed_.try_emplace(id);
  State& state = at->second;
  if (is_new && id.index() < base_.tensor_bound()) {
    const auto readers = base_.consumers(id);
    state.consumers.assign(readers.begin(), readers.end());
    state.is_constant = base_.is_constant_expression(id);
    state.is_dead = !base_.contains(id);
  } else if (is_new) {
    state.is_constant = tensor(id).value != nullptr;
  }
  return state;
}

bool EditedGraph::is_output(TensorId id) const {
  return std::ranges::find(edited_->outputs, id) != edited_->outputs.end();
}

bool EditedGraph::is_unused(TensorId id) const { return consumers(id).empty() && !is_output(id); }

/// Whether an input of the match is computed from one of its outputs.
bool EditedGraph::may_close_cycle(const Match& match) const {
  if (match.outputs.size() <= 1) return false;
  std::vector<bool> seen(node_bound_);
  std::vector<TensorId> pending = match.inputs;
  while (!pending.empty()) {
    const TensorId id = pending.back();
    pending.pop_back();
    if (!id.valid()) continue;
    if (std::ranges::find(match.outputs, id) != match.outputs.end()) return true;
    const NodeId producer = tensor(id).producer;
    if (!producer.valid() || seen[producer.index()]) continue;
    seen[producer.index()] = true;
    const auto& inputs = node(producer).inputs;
    pending.insert(pending.end(), inputs.begin(), inputs.end());
  }
  return false;
}

bool EditedGraph::computes_constant(const core::Node& node) const {
  return !node.op->is_opaque() && std::ranges::all_of(node.inputs, [&](TensorId input) {
    return !input.valid() || is_constant_expression(input);
  });
}

void EditedGraph::add(NodeId id) {
  const core::Node& made = node(id);
  for (const TensorId input : made.inputs) {
    if (!input.valid()) continue;
    auto& readers = state_of(input).consumers;
    if (readers.empty() || readers.back() != id) readers.push_back(id);  // no id is larger
  }
  const bool is_constant = computes_constant(made);
  for (const TensorId output : made.outputs) state_of(output).is_constant = is_constant;
}

void EditedGraph::redirect(TensorId from, TensorId to) {
  if (from == to) return;
  const std::vector<NodeId> moved = std::exchange(state_of(from).consumers, {});
  auto& readers = state_of(to).consumers;
  std::vector<NodeId> all;
  std::ranges::set_union(readers, moved, std::back_inserter(all));
  readers = std::move(all);
  if (is_constant_expression(from) != is_constant_expression(to)) update_constants(moved);
}

void EditedGraph::update_constants(std::vector<NodeId> pending) {
  while (!pending.empty()) {
    const core::Node& reader = node(pending.back());
    pending.pop_back();
    const bool is_constant = computes_constant(reader);
    for (const TensorId output : reader.outputs) {
      if (is_constant_expression(output) == is_constant) continue;
      State& state = state_of(output);
      state.is_constant = is_constant;
      pending.insert(pending.end(), state.consumers.begin(), state.consumers.end());
    }
  }
}

void EditedGraph::remove_unused(std::vector<NodeId> pending) {
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!contains(id)) continue;
    const core::Node& unused = node(id);
    if (!std::ranges::all_of(unused.outputs, [&](TensorId output) { return is_unused(output); }))
      continue;
    dead_.insert(id);
    for (const TensorId output : unused.outputs) state_of(output).is_dead = true;
    for (const TensorId input : unused.inputs) {
      if (!input.valid()) continue;
      State& state = state_of(input);
      std::erase(state.consumers, id);
      const core::Tensor& read = tensor(input);
      if (read.producer.valid()) pending.push_back(read.producer);
      if (read.value && is_unused(input)) state.is_dead = true;
    }
  }
}

std::optional<std::vector<TensorId>> EditedGraph::apply(const Rule& rule, const Match& match) {
  if (may_close_cycle(match)) return std::nullopt;
  if (!edited_) edited_.emplace(base_);
  auto results = apply_to(*edited_, rule, match);
  if (!results) return std::nullopt;
  std::vector<NodeId> touched;
  for (const std::size_t end = node_bound_ + rule.target.order().size(); node_bound_ < end;) {
    touched.emplace_back(node_bound_++);
    add(touched.back());
  }
  for (std::size_t k = 0; k < results->size(); ++k) redirect(match.outputs[k], (*results)[k]);
  for (const TensorId result : *results)
    if (tensor(result).value && is_unused(result)) state_of(result).is_dead = true;
  touched.insert(touched.end(), match.nodes.begin(), match.nodes.end());
  for (const TensorId output : match.outputs)
    if (tensor(output).producer.valid()) touched.push_back(tensor(output).producer);
  remove_unused(std::move(touched));
  return *std::move(results);
}

Result<Graph> EditedGraph::finished() const {
  if (!edited_) return base_;
  core::GraphBuilder copy = edited_->builder;
  return std::move(copy).finish();
}

}  // namespace soapstone::rules
