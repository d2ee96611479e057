// A part of a graph as a small graph of its own, so that a rewrite of it costs what the part costs
// and equal parts are recognized.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/ranges/special_values.h"

namespace soapstone::search {

struct Region {
  /// Tensors that its nodes read from outside are inputs; tensors that others read are outputs.
  /// Constants are computed in it as in the whole graph. Nothing has a name.
  core::Graph graph;
  std::vector<core::NodeId> nodes;      ///< By node of `graph`: the one of the whole graph.
  std::vector<core::TensorId> tensors;  ///< By tensor, likewise.
  /// Equal for regions of which the graphs differ in the values of weights only, and in which NaN
  /// and infinities matter in the same tensors: equal ids then stand for corresponding nodes.
  std::vector<std::uint64_t> signature;
  /// Where NaN and infinities matter in `graph`, by what is known of the whole graph.
  ops::SpecialValues specials;
};

/// Preconditions: the nodes are no constant expressions, and convex: no path leaves them and comes
/// back. Then no rewrite of the region can close a cycle through the rest of the graph.
/// Complexity: linear in the region with its constants.
Region extract_region(const core::Graph& whole, std::span<const core::NodeId> nodes,
                      const ops::SpecialValues& specials = {});

/// A constant of which only the type is in signatures: regions that are alike may have other
/// values there.
bool is_free_weight(const core::Graph& graph, core::TensorId id);

/// Convex sets of at most `size` nodes, more of them around many siblings, opaque and constant ones
/// in none. Every other node lies inside one of them with its neighborhood. Where a graph repeats
/// itself, so do the sets. Without `behind_opaque`, nodes that depend on an opaque one are treated
/// as if they were opaque, too. Complexity: near linear in the graph, for a given size.
std::vector<std::vector<core::NodeId>> cover(const core::Graph& graph, std::size_t size,
                                             bool behind_opaque = true);

/// Convex sets of at most `size` nodes that share none: all nodes but those that cover() leaves
/// out. Complexity: linear in the graph.
std::vector<std::vector<core::NodeId>> partition(const core::Graph& graph, std::size_t size,
                                                 bool behind_opaque = true);

}  // namespace soapstone::search
