// Which nodes of a graph one kernel computes: those that index analysis can put into one, without
// computing much again. Contractions are left to libraries and stand alone.
#pragma once

#include <vector>

#include "gpu/text/kernel_plan.h"

namespace soapstone::gpu {

struct Group {
  enum class Kind : std::uint8_t {
    kKernel,       ///< A generated kernel.
    kContraction,  ///< A library's; a generated one would compute it slowly.
    kView,         ///< No launch: results are pieces of an input.
    kOther,        ///< Nothing can be generated.
  };
  Kind kind = Kind::kKernel;
  /// In topological order. Views that others read through belong to no kernel.
  std::vector<core::NodeId> nodes;
};

struct FusionOptions {
  bool fuses = true;  ///< False: every node by itself.
  KernelOptions kernel;
};

/// All nodes but constant expressions, in an order in which they can run. Deterministic.
/// Complexity: quadratic in nodes at most.
std::vector<Group> group_nodes(const core::Graph& graph, const FusionOptions& options = {});

/// What the kernel of these nodes computes, with the views that they read through.
core::Result<Region> region_of(const core::Graph& graph, std::span<const core::NodeId> nodes);

}  // namespace soapstone::gpu
