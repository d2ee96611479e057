// Any stretch of a topological order is convex: no path leaves it and comes back.
#include "ops/definition/registry.h"
#include "search/equivalence/opaque.h"
#include "search/regions/region.h"

namespace soapstone::search {

std::vector<std::vector<core::NodeId>> partition(const core::Graph& graph, std::size_t size,
                                                 bool behind_opaque) {
  std::vector<bool> untouchable(graph.node_bound());
  if (!behind_opaque) untouchable = depends_on_opaque(graph);
  std::vector<std::vector<core::NodeId>> parts(1);
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const bool is_left_out = untouchable[id.index()] || ops::is_opaque(graph.node(id));
    const bool is_full = parts.back().size() == size;
    if ((is_left_out || is_full) && !parts.back().empty()) parts.emplace_back();
    if (!is_left_out) parts.back().push_back(id);
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace soapstone::search
