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

}  // namespace

core::Result<Freedom> freedom_on(const Topology& topology, std::int64_t devices, Freedom freedom) {
  if (freedom.has_stage_a_node) {
    if (topology.levels().size() < 2) {
      return core::unsupported(fmt::format("{} has no nodes", topology.name()),
                               "take a machine of levels, or another strategy");
    }
    const std::int64_t node = topology.levels()[0].size;
    if (devices % node != 0 && devices > node) {
      return core::unsupported(fmt::format("{} devices are no whole nodes of {}", devices, node));
    }
    freedom.stages = devices > node ? devices / node : 1;
  }
  if (freedom.bisects) {
    const std::int64_t first = smallest_factor(devices);
    freedom.any = smallest_factor(devices / first);
    freedom.model = devices / first / *freedom.any;
  }
  return freedom;
}

}  // namespace soapstone::parallel
