// Runs of layers of a model that repeat, in the order in which its nodes run.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::parallel {

struct PlannedGraph;

/// The piece of the model that each node is in, by node; −1: nothing runs.
std::vector<std::int32_t> pieces_of_nodes(const core::Graph& graph, const PlanDocument& plan);

/// Hashes of nodes that are equal for nodes that are alike: the same operator with the same
/// attributes, types and cuts, constants of the same values, weights that lie in the same way, and
/// results that the backward pass keeps alike. What produces inputs does not count.
class NodeLikeness {
 public:
  /// Precondition: the plan belongs to the graph.
  NodeLikeness(const PlannedGraph& model, const PlanDocument& plan);
  std::uint64_t of(core::NodeId id) const { return hashes_[id.index()]; }
  /// Of a constant or a weight.
  std::uint64_t of(core::TensorId id) const { return tensors_[id.index()]; }

 private:
  std::vector<std::uint64_t> hashes_;   ///< By node.
  std::vector<std::uint64_t> tensors_;  ///< By tensor; 0: of neither kind.
};

/// Consecutive copies of a layer, as positions in the order of nodes.
struct LayerRun {
  std::size_t first = 0, length = 0;  ///< Of the first copy.
  std::size_t copies = 0;
  std::size_t end() const { return first + length * copies; }
};

/// The nodes of a graph that run, in their order.
class LayerOrder {
 public:
  /// All must outlive this. `pieces` by node.
  LayerOrder(const core::Graph& graph, const NodeLikeness& kinds,
             const std::vector<std::int32_t>& pieces);

  std::size_t size() const { return nodes_.size(); }
  core::NodeId node(std::size_t position) const { return nodes_[position]; }
  std::int32_t piece(std::size_t position) const { return pieces_[nodes_[position].index()]; }
  /// Whether a node at this position or behind it reads the tensor, or the model has it as a
  /// result.
  bool is_read_from(core::TensorId id, std::size_t position) const;

  /// Runs of at least so many copies whose nodes are alike, those of the most nodes first.
  /// Complexity: nodes times the length of the longest layer.
  std::vector<LayerRun> runs(std::size_t copies) const;
  /// Whether copies of the run are wired alike: each reads itself, the copy before it in the same
  /// way as that one reads the one before, what comes before all of them, and either the same
  /// weight as all others or one of its own; and what it computes is read by itself and the next
  /// one alone, but for the last copy. `is_weight` by tensor.
  bool is_repeated(const LayerRun& run, const std::vector<bool>& is_weight) const;

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  /// The position of the node that computes the tensor, or kNowhere.
  std::size_t position_of(core::TensorId id) const;
  bool reads_alike(const LayerRun& run, std::size_t position, std::size_t input,
                   const std::vector<bool>& is_weight) const;
  bool reads_weight_alike(const LayerRun& run, std::size_t position, std::size_t input) const;
  std::optional<std::vector<std::pair<std::size_t, std::size_t>>>
  reads_within(core::TensorId weight, std::size_t begin, std::size_t length) const;
  bool is_made_for_one(core::TensorId constant) const;
  bool is_read_nearby(const LayerRun& run, std::size_t position) const;

  const core::Graph& graph_;
  const NodeLikeness& kinds_;
  const std::vector<std::int32_t>& pieces_;
  std::vector<core::NodeId> nodes_;
  std::vector<std::size_t> positions_;  ///< By node.
  std::vector<std::uint64_t> marks_;    ///< By position: likeness, and whether a piece begins.
};

}  // namespace soapstone::parallel
