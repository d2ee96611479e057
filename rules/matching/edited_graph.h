// A graph to which rules are applied one after another, without making a graph of its own after
// each one: what a step takes is as much as it changes, however large the graph is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "rules/matching/rewrite.h"

namespace soapstone::rules {

/// Answers as the graph does that apply() would make, with the same ids.
class EditedGraph {
 public:
  /// `base` must outlive it. It is not copied before the first rule is applied.
  explicit EditedGraph(const Graph& base) : base_(base), node_bound_(base.node_bound()) {}

  const core::Node& node(NodeId id) const {
    return edited_ ? edited_->builder.node(id) : base_.node(id);
  }
  const core::Tensor& tensor(TensorId id) const {
    return edited_ ? edited_->builder.tensor(id) : base_.tensor(id);
  }
  bool contains(NodeId id) const {
    const bool is_old = id.index() < base_.node_bound();
    return id.index() < node_bound_ && (!is_old || base_.contains(id)) && !dead_.contains(id);
  }
  bool contains(TensorId id) const;
  std::span<const NodeId> consumers(TensorId id) const;
  bool is_constant_expression(TensorId id) const;

  /// Replaces a match: Applied::results. None: the rule does not fit there, or a cycle might close;
  /// then this object is of no more use. Complexity: linear in what changes; where a match has
  /// several outputs, in what its inputs are computed from.
  std::optional<std::vector<TensorId>> apply(const Rule& rule, const Match& match);
  /// The graph that it is by now. Complexity: linear.
  Result<Graph> finished() const;

 private:
  /// The state of a tensor that has changed.
  struct State {
    std::vector<NodeId> consumers;  ///< Ascending.
    bool is_constant = false, is_dead = false;
  };
  State& state_of(TensorId id);
  bool is_output(TensorId id) const;
  bool is_unused(TensorId id) const;
  bool may_close_cycle(const Match& match) const;
  void add(NodeId id);
  void redirect(TensorId from, TensorId to);
  void update_constants(std::vector<NodeId> pending);
  bool computes_constant(const core::Node& node) const;
  void remove_unused(std::vector<NodeId> pending);

  const Graph& base_;
  std::optional<Edited> edited_;  ///< None before the first rule is applied.
  std::size_t node_bound_;
  std::map<TensorId, State> changed_;
  std::set<NodeId> dead_;
};

}  // namespace soapstone::rules
