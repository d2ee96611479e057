// See cover.h.
#include "gpu/kernels/cover.h"

#include <set>

#include "gpu/kernels/extent.h"
#include "gpu/kernels/fusion.h"

namespace soapstone::gpu {

using core::TensorId;
using runtime::Launch;

Launch launch_of(const core::Graph& graph, const Group& group) {
  const GroupExtent extent = extent_of(graph, group.nodes, group.through);
  Launch launch;
  launch.head = extent.nodes[0];
  launch.others.assign(extent.nodes.begin() + 1, extent.nodes.end());
  launch.outputs = extent.outputs;
  std::set<TensorId> seen;
  for (const core::NodeId node : extent.nodes) {
    for (const TensorId input : graph.node(node).inputs)
      if (input.valid() && seen.insert(input).second) launch.inputs.push_back(input);
    for (const TensorId output : graph.node(node).outputs) seen.insert(output);
  }
  return launch;
}

std::optional<std::vector<Launch>> cover(const core::Graph& graph, runtime::Fusion fusion,
                                         const LaunchFit& attends) {
  if (fusion != runtime::Fusion::kFull) return std::nullopt;
  std::vector<Launch> launches;
  for (const Group& group : join_attention(graph, group_nodes(graph), attends))
    if (group.kind != Group::Kind::kView) launches.push_back(launch_of(graph, group));
  return launches;
}

}  // namespace soapstone::gpu
