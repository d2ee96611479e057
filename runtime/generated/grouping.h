// Which nodes of a graph one kernel computes: those that index analysis can put into one, without
// computing much again. Contractions are left to libraries, with what these compute behind them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/generated/kernel_plan.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime::generated {

struct Group {
  enum class Kind : std::uint8_t {
    kKernel,       ///< A generated kernel.
    kContraction,  ///< A library's; a generated one would compute it slowly.
    kView,         ///< No launch: results are pieces of an input.
    kOther,        ///< Nothing can be generated.
    kGiven,        ///< One of GroupingOptions::given.
  };
  Kind kind = Kind::kKernel;
  /// In topological order. Views that others read through belong to no kernel.
  std::vector<core::NodeId> nodes;
  /// Of a contraction: nodes that only change the order of elements, which it reads in that order
  /// itself; they may belong to several contractions and are computed by none.
  std::vector<core::NodeId> through = {};
};

/// True if a library of the device computes these nodes, a contraction among them, as one kernel
/// that stores `outputs`. `nodes` in topological order, with the views that they read through.
using ContractionRule =
    std::function<bool(const core::Graph& graph, std::span<const core::NodeId> nodes,
                       std::span<const core::TensorId> outputs)>;

struct GroupingOptions {
  bool fuses = true;  ///< False: every node by itself.
  KernelOptions kernel = {};
  ContractionRule contractions = {};  ///< None: every contraction is a kernel by itself.
  /// True if one kernel runs what groups are to be joined; none: what analysis allows is good.
  std::function<bool(const Region& region, const KernelPlan& plan)> joins = {};
  /// True if two lists of nodes are better two kernels, although one could run both; none: never.
  std::function<bool(const Region& joined, const KernelPlan& plan, std::span<const core::NodeId> a,
                     std::span<const core::NodeId> b)>
      apart = {};
  /// Groups that are decided already, in topological order each; others do not grow into them.
  std::vector<std::vector<core::NodeId>> given = {};
};

/// All nodes but constant expressions, in an order in which they can run. Deterministic.
/// Complexity: quadratic in nodes at most.
std::vector<Group> group_nodes(const core::Graph& graph, const GroupingOptions& options = {});

/// A group as a launch: its inputs in the order in which nodes read them.
runtime::Launch launch_of(const core::Graph& graph, const Group& group);

}  // namespace soapstone::runtime::generated
