// See cover.h.
#include "gpu/kernels/cover.h"

#include <algorithm>

#include "gpu/kernels/library_fit.h"
#include "gpu/text/tiles.h"
#include "gpu/text/traffic.h"
#include "runtime/generated/extent.h"

namespace soapstone::gpu {

using runtime::generated::Group;

namespace {

using core::NodeId;

/// What a card moves while a launch begins and ends, at 2 to 4 TB/s.
constexpr double kBytesOfALaunch = 8 << 20;
/// The most that is moved for each byte that is needed, of elements of 2 bytes.
constexpr double kWorstRatio = 16;

double bytes_of(const Region& region, std::uint32_t tensor) {
  const runtime::generated::RegionTensor& t = region.tensors[tensor];
  return static_cast<double>(t.elements) * static_cast<double>(core::size_bytes(t.data_type));
}

bool has_output(const Region& region, core::TensorId id) {
  return std::ranges::any_of(region.outputs,
                             [&](std::uint32_t t) { return region.tensors[t].id == id; });
}

/// True if rows that one kernel would read or store in pieces are better stored as they are, and
/// moved by another kernel, which has tiles.
bool are_better_apart(const core::Graph& graph, const Region& joined, const KernelPlan& plan,
                      std::span<const NodeId> a, std::span<const NodeId> b) {
  if (plan.row_count == 0) return false;
  double all = 0;
  for (const auto* const tensors : {&joined.inputs, &joined.outputs})
    for (const std::uint32_t t : *tensors) all += bytes_of(joined, t);
  if (kWorstRatio * all < kBytesOfALaunch) return false;
  const double together = excess_bytes(joined, plan);
  double apart = kBytesOfALaunch;
  for (const std::span<const NodeId> nodes : {a, b}) {
    if (together <= apart) return false;
    const auto region = runtime::generated::region_of(graph, nodes);
    if (!region) return false;
    apart += excess_bytes(*region, plan_for_gpu(*region));
    // What lies between is stored and read.
    for (const std::uint32_t t : region->outputs)
      if (!has_output(joined, region->tensors[t].id)) apart += 2 * bytes_of(*region, t);
  }
  return together > apart;
}

}  // namespace

std::vector<Group> gpu_groups(const core::Graph& graph,
                              runtime::generated::GroupingOptions options) {
  options.contractions = fits_libraries;
  options.apart = [&graph](const auto&... of) { return are_better_apart(graph, of...); };
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
