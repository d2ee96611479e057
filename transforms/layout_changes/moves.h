// Moves: reshapes, transposes, cuts and joins of pieces. What is done to a moved tensor is done to
// the tensor itself, with its axes where they lie, until moves cancel or a contraction takes them.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `moves_of_softmax`.
inline constexpr std::string_view kMovesPrefix = "moves_of_";

/// A plan for each part of the graph that moves connect. Complexity: linear in the graph, but for
/// the pieces of joins.
std::vector<RewriteSequence> find_moves(const core::Graph& graph);
inline constexpr Transform kLayoutChanges{
    "layout_changes",
    "reshapes, transposes and cuts are taken past what is done to elements",
    find_moves,
    {kMovesPrefix}};

/// Whether the node reshapes or transposes.
bool is_move(const core::Node& node);
/// Does to the view what such a node does, whose result has that shape. False: View::reshape.
bool move(View& view, const core::Node& node, const Sizes& shape);

}  // namespace soapstone::transforms
