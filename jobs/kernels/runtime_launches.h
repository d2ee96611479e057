// What a runtime made of a graph: its kernels, matched with the nodes that they do by the names
// that survive, and where none does by the flow of data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "workers/runtime_types.h"

namespace soapstone::jobs {

/// The names that a graph has in the file that the runtime read. Names of nodes may be missing.
struct WrittenNames {
  std::unordered_map<std::string, core::TensorId> tensors;
  std::unordered_map<std::string, core::NodeId> nodes;
};

/// A kernel, or several that do one node.
struct ObservedLaunch {
  std::vector<core::NodeId> nodes;  ///< In the order of the graph; all lead to the last one.
  double us = 0;
  /// Whether what it reads or writes is in a form that only the runtime knows (a blocked layout).
  bool reads_private = false, writes_private = false;
  /// Conversions from and to ordinary tensors around it; 0 where there is none.
  double enter_us = 0, leave_us = 0;
};

struct ObservedGraph {
  std::vector<ObservedLaunch> launches;
  std::vector<core::NodeId> exported;  ///< Inside a launch that hands their results out, too.
  std::vector<core::NodeId> removed;   ///< No kernel does them: the runtime found them needless.
  std::size_t kernels = 0;
  double kernels_us = 0, total_us = 0;
  double unassigned_us = 0;  ///< Of kernels that no node of the graph asks for.
};

/// A tensor's name in files that are written to be observed. Runtimes make names for what they fuse
/// out of those that they read, and it can be found again inside one of these.
std::string observed_name(core::TensorId id);

/// Nodes that are computed from constants alone are in no launch.
ObservedGraph match_kernels(const core::Graph& graph, const WrittenNames& names,
                            const workers::RuntimeProfile& profile);

}  // namespace soapstone::jobs
