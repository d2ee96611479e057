// The one file that may see hwloc.
#include "parallel/topology/processors.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "parallel/ranks/launch.h"

#ifdef SOAPSTONE_HWLOC
#include <hwloc.h>

#include <memory>
#include <optional>
#include <type_traits>
#endif

namespace soapstone::parallel {
namespace {

/// All threads are alike.
Processors alike_processors() {
  Processors processors;
  processors.threads_of_node = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  processors.memory_bytes_of_node = std::max(1.0, static_cast<double>(sysconf(_SC_PHYS_PAGES))) *
                                    static_cast<double>(sysconf(_SC_PAGESIZE));
  return processors;
}

#ifdef SOAPSTONE_HWLOC
struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// The threads that this process may run on; all, if it is one of several that mpirun started
/// and bound to some of them. None if hwloc cannot tell.
HwlocTopology usable_threads() {
  hwloc_topology_t loaded = nullptr;
  if (hwloc_topology_init(&loaded) != 0) return nullptr;
  HwlocTopology topology(loaded);
  if (hwloc_topology_load(loaded) != 0) return nullptr;
  if (!launch_of_environment().is_alone()) return topology;
  const hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(loaded, bound, HWLOC_CPUBIND_PROCESS) == 0)
    hwloc_topology_restrict(loaded, bound, 0);
  hwloc_bitmap_free(bound);
  return topology;
}

/// What memory nodes have, if all have the same.
std::optional<Processors> equal_nodes(hwloc_topology_t topology) {
  const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  const int threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  if (nodes < 1 || threads < 1 || threads % nodes != 0) return std::nullopt;
  Processors processors;
  processors.nodes = nodes;
  processors.threads_of_node = threads / nodes;
  processors.threads_of_core = cores > 0 ? static_cast<double>(threads) / cores : 1;
  for (int k = 0; k < nodes; ++k) {
    const hwloc_obj_t node =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(k));
    const auto bytes = static_cast<double>(node->attr->numanode.local_memory);
    if (hwloc_bitmap_weight(node->cpuset) != processors.threads_of_node || bytes <= 0)
      return std::nullopt;
    processors.memory_bytes_of_node =
        k == 0 ? bytes : std::min(processors.memory_bytes_of_node, bytes);
  }
  return processors;
}
#endif

}  // namespace

Processors local_processors() {
#ifdef SOAPSTONE_HWLOC
  if (const HwlocTopology topology = usable_threads())
    if (const auto processors = equal_nodes(topology.get())) return *processors;
#endif
  return alike_processors();
}

}  // namespace soapstone::parallel
