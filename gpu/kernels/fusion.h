// Which nodes of a graph one kernel computes: those that index analysis can put into one, without
// computing much again. Contractions are left to libraries, with what these compute behind them.
#pragma once

#include <vector>

#include "gpu/text/kernel_plan.h"

namespace soapstone::gpu {

struct Group {
  enum class Kind : std::uint8_t {
    kKernel,       ///< A generated kernel.
    kContraction,  ///< A library's (library_fit.h); a generated one would compute it slowly.
    kAttention,    ///< Scores, softmax and context (attention_groups.h), of a library.
    kView,         ///< No launch: results are pieces of an input.
    kOther,        ///< Nothing can be generated.
  };
  Kind kind = Kind::kKernel;
  /// In topological order. Views that others read through belong to no kernel.
  std::vector<core::NodeId> nodes;
  /// Of a contraction: nodes that only change the order of elements, which it reads in that order
  /// itself; they may belong to several contractions and are computed by none.
  std::vector<core::NodeId> through = {};
};

struct FusionOptions {
  bool fuses = true;  ///< False: every node by itself.
  KernelOptions kernel;
};

/// All nodes but constant expressions, in an order in which they can run. Deterministic.
/// Complexity: quadratic in nodes at most.
std::vector<Group> group_nodes(const core::Graph& graph, const FusionOptions& options = {});

}  // namespace soapstone::gpu
