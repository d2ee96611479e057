// See chains.h.
#include "cpu/generated/chains.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cpu/base/kernel_request.h"
#include "cpu/generated/loop_text.h"
#include "runtime/generated/grouping.h"

namespace soapstone::cpu {
namespace {

using core::NodeId;
using runtime::Launch;
using runtime::generated::Group;
using runtime::generated::KernelPlan;
using runtime::generated::Region;
using runtime::generated::RegionStage;

/// True if generated loops compute the launch as well as kernels that know its operator: it has no
/// contraction and no windows.
bool may_be_generated(const core::Graph& graph, const Launch& launch) {
  if (is_whole_gradient(graph.node(launch.head))) return false;
  const auto region = runtime::generated::make_region(graph, launch.nodes(), launch.outputs);
  if (!region) return false;
  if (std::ranges::any_of(region->stages, &RegionStage::is_contraction)) return false;
  const auto plan = runtime::generated::plan_kernel(*region, kLoopOptions);
  return plan && std::ranges::all_of(region->stages, [&](const RegionStage& stage) {
           return stage.longest_loop == 1 ||
                  std::ranges::find(plan->rows, stage.tensor) != plan->rows.end();
         });
}

bool is_vectorized(const Region& region, const KernelPlan& plan) {
  return loop_text(region, plan).is_vectorized;
}

}  // namespace

std::vector<Launch> cover_with_chains(const core::Graph& graph, const runtime::FusionRules& rules) {
  const runtime::LaunchPlan plan = runtime::plan_launches(graph, rules);
  std::map<NodeId, const Launch*> launch_of_node;
  runtime::generated::GroupingOptions options{.kernel = kLoopOptions, .joins = is_vectorized};
  for (const Launch& launch : plan.launches) {
    for (const NodeId node : launch.nodes()) launch_of_node[node] = &launch;
    if (!may_be_generated(graph, launch)) options.given.push_back(launch.nodes());
  }
  // A concat may cost nothing as plans know, as long as it is by itself.
  for (const NodeId node : plan.views)
    if (!runtime::is_free(graph, node)) options.given.push_back({node});
  std::vector<Launch> launches;
  for (const Group& group : runtime::generated::group_nodes(graph, options)) {
    if (group.kind == Group::Kind::kView) continue;
    const auto present = launch_of_node.find(group.nodes[0]);
    if (present != launch_of_node.end() && present->second->nodes() == group.nodes)
      launches.push_back(*present->second);
    else if (group.nodes.size() == 1)
      launches.push_back(runtime::grow_launch(graph, group.nodes[0],
                                              runtime::generic_fusion(runtime::Fusion::kNone)));
    else
      launches.push_back(runtime::generated::launch_of(graph, group));
  }
  return launches;
}

}  // namespace soapstone::cpu
