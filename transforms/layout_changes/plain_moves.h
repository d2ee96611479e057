// Moves one behind another, and those that move nothing. None of these plans is a gain by itself:
// what stands behind the moves is seen by what looks for it.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"
#include "transforms/layout_changes/moves.h"

namespace soapstone::transforms {

/// A plan for each reshape of what is reshaped, however often: no gain, but what stands in front of
/// the first is seen by what looks for it. Complexity: linear in the graph.
std::vector<RewriteSequence> find_joined_reshapes(const core::Graph& graph);
inline constexpr Transform kJoinedReshapes{"joined_reshapes",
                                           "reshapes behind each other become one",
                                           find_joined_reshapes,
                                           {kMovesPrefix}};

/// A plan for each product with a matrix that stands between reshapes of its rows: no gain, but
/// what stands in front of it is then seen with all its dimensions. Complexity: linear in the
/// graph.
std::vector<RewriteSequence> find_rows_of_products(const core::Graph& graph);
inline constexpr Transform kRowsOfProducts{"rows_of_products",
                                           "a product is seen with all dimensions of its rows",
                                           find_rows_of_products,
                                           {kMovesPrefix}};

/// A plan for each reshape or transpose that changes nothing: it may cost nothing, but it stands
/// between what belongs together. Complexity: linear in the graph.
std::vector<RewriteSequence> find_idle_moves(const core::Graph& graph);
inline constexpr Transform kIdleLayoutChanges{"idle_layout_changes",
                                              "reshapes and transposes that change nothing go",
                                              find_idle_moves,
                                              {kMovesPrefix}};

/// A plan for each join of joins along one axis, however many, which hides what is joined first.
/// Complexity: linear in the graph.
std::vector<RewriteSequence> find_joined_joins(const core::Graph& graph);
inline constexpr Transform kConcatsOfConcats{"concats_of_concats",
                                             "concats behind each other become one",
                                             find_joined_joins,
                                             {kMovesPrefix}};

}  // namespace soapstone::transforms
