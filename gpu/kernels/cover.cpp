// See cover.h.
#include "gpu/kernels/cover.h"

#include "gpu/kernels/library_fit.h"

namespace soapstone::gpu {

using runtime::generated::Group;

std::vector<Group> gpu_groups(const core::Graph& graph,
                              runtime::generated::GroupingOptions options) {
  options.contractions = fits_libraries;
  return runtime::generated::group_nodes(graph, options);
}

std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph, runtime::Fusion fusion,
                                                  const LaunchFit& attends) {
  if (fusion < runtime::Fusion::kFull) return std::nullopt;
  std::vector<runtime::Launch> launches;
  for (const Group& group : join_attention(graph, gpu_groups(graph), attends))
    if (group.kind != Group::Kind::kView)
      launches.push_back(runtime::generated::launch_of(graph, group));
  return launches;
}

}  // namespace soapstone::gpu
