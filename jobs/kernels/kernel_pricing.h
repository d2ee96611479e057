// Graphs as a runtime runs them: kernels with their costs, and conversions between kernels.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "jobs/kernels/kernel_costs.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::jobs {

/// A graph in kernels, with what each and each conversion between them costs.
struct Pricing {
  struct Conversion {
    core::TensorId tensor;
    double us;
  };
  std::vector<KernelNodes> kernels;
  std::vector<const KernelCost*> costs;  ///< Null: not known.
  std::vector<Conversion> conversions;
  bool is_complete = true;
};

/// As far as it is known. The result points into `known`.
Pricing price_kernels(const core::Graph& graph, const KernelCosts& known);

/// The nodes as a launch, for estimates and descriptions.
runtime::Launch as_launch(const core::Graph& graph, std::span<const core::NodeId> nodes);

}  // namespace soapstone::jobs
