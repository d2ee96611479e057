// See extent.h.
#include "runtime/generated/extent.h"

#include <algorithm>

#include "ops/definition/registry.h"
#include "runtime/launches/view.h"

namespace soapstone::runtime::generated {

using core::NodeId;
using core::TensorId;

namespace {

bool is_needed_outside(const core::Graph& graph, TensorId t, const std::set<NodeId>& inside) {
  const auto readers = graph.consumers(t);
  return graph.is_output(t) || std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           if (inside.contains(reader)) return false;
           const auto& results = graph.node(reader).outputs;
           return !is_kernel_view(graph, reader) ||
                  std::any_of(results.begin(), results.end(), [&](TensorId result) {
                    return is_needed_outside(graph, result, inside);
                  });
         });
}

}  // namespace

bool is_kernel_view(const core::Graph& graph, NodeId node) {
  return !ops::is_opaque(graph.node(node)) &&
         runtime::is_view(graph, node, runtime::Layout::kRowMajor);
}

std::vector<NodeId> sources_of(const core::Graph& graph, NodeId node, std::set<NodeId>* views) {
  std::vector<NodeId> sources;
  for (TensorId t : graph.node(node).inputs) {
    if (!t.valid() || graph.is_constant_expression(t)) continue;
    const NodeId producer = graph.tensor(t).producer;
    if (!producer.valid()) continue;
    if (!is_kernel_view(graph, producer)) {
      sources.push_back(producer);
      continue;
    }
    if (views) views->insert(producer);
    for (NodeId beyond : sources_of(graph, producer, views)) sources.push_back(beyond);
  }
  return sources;
}

GroupExtent extent_of(const core::Graph& graph, std::span<const NodeId> nodes,
                      std::span<const NodeId> through) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::set<NodeId> views, all = inside;
  all.insert(through.begin(), through.end());
  const bool is_view_alone = nodes.size() == 1 && is_kernel_view(graph, nodes[0]);
  if (!is_view_alone)
    for (NodeId node : all) sources_of(graph, node, &views);
  all.insert(views.begin(), views.end());
  GroupExtent extent;
  for (NodeId node : graph.order())
    if (all.contains(node)) extent.nodes.push_back(node);
  for (NodeId node : nodes)
    for (TensorId t : graph.node(node).outputs)
      if (is_view_alone || is_needed_outside(graph, t, inside)) extent.outputs.push_back(t);
  return extent;
}

core::Result<Region> region_of(const core::Graph& graph, std::span<const NodeId> nodes,
                               std::span<const NodeId> through) {
  const GroupExtent extent = extent_of(graph, nodes, through);
  return make_region(graph, extent.nodes, extent.outputs);
}

}  // namespace soapstone::runtime::generated
