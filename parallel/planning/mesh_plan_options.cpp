#include "parallel/planning/mesh_plan_options.h"

#include <fmt/format.h>

namespace soapstone::parallel {
namespace {

/// 1 for 1.
std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return d;
  return n;
}

/// Stages are the nodes of the machine.
core::Status give_stages_nodes(const Topology& topology, std::int64_t devices, Freedom& freedom) {
  if (topology.levels().size() < 2) {
    return core::unsupported(fmt::format("{} has no nodes", topology.name()),
                             "take a machine of levels, or another strategy");
  }
  const std::int64_t node = topology.levels()[0].size;
  if (devices <= node) {
    return core::unsupported(fmt::format("{} devices of {} are one node", devices, topology.name()),
                             "take more nodes, or another strategy");
  }
  if (devices % node != 0)
    return core::unsupported(fmt::format("{} devices are no whole nodes of {}", devices, node));
  freedom.stages = devices / node;
  return core::Done{};
}

/// Errors: kUnsupported if the strategy fixes another size.
core::Status fix(const char* name, const std::optional<std::int64_t>& size,
                 std::optional<std::int64_t>& of_strategy) {
  if (!size) return core::Done{};
  if (of_strategy && *of_strategy != *size) {
    return core::unsupported(
        fmt::format("the strategy has {} = {}, and {} are asked for", name, *of_strategy, *size),
        "take another strategy, or leave the size to it");
  }
  of_strategy = size;
  return core::Done{};
}

}  // namespace

core::Result<Freedom> freedom_on(const Topology& topology, std::int64_t devices, Freedom freedom,
                                 const FixedSizes& sizes) {
  if (freedom.has_stage_a_node)
    SOAPSTONE_RETURN_IF_ERROR(give_stages_nodes(topology, devices, freedom));
  if (freedom.has_any_a_node) {
    if (topology.levels().size() < 2 || devices <= topology.levels()[0].size)
      return core::unsupported(
          fmt::format("{} devices of {} are no nodes", devices, topology.name()),
          "take a machine of several nodes, or another strategy");
    freedom.any = topology.levels()[0].size;
  }
  if (freedom.bisects) {
    const std::int64_t first = smallest_factor(devices);
    freedom.any = smallest_factor(devices / first);
    freedom.model = devices / first / *freedom.any;
  }
  SOAPSTONE_RETURN_IF_ERROR(fix("model", sizes.model, freedom.model));
  SOAPSTONE_RETURN_IF_ERROR(fix("any", sizes.any, freedom.any));
  SOAPSTONE_RETURN_IF_ERROR(fix("stages", sizes.stages, freedom.stages));
  SOAPSTONE_RETURN_IF_ERROR(fix("microbatches", sizes.microbatches, freedom.microbatches));
  SOAPSTONE_RETURN_IF_ERROR(fix("chunks", sizes.chunks, freedom.chunks));
  // These may be asked of any strategy.
  if (sizes.recompute) freedom.recompute = sizes.recompute;
  freedom.sums_behind = sizes.sums_behind;
  if (sizes.loss_chunks) freedom.loss_chunks = sizes.loss_chunks;
  if (sizes.bucket_bytes) freedom.bucket_bytes = sizes.bucket_bytes;
  return freedom;
}

}  // namespace soapstone::parallel
