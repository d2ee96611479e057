// The best of a backend's ways to run a launch, found by timing them and kept in the cost database
// as the implementation of the measurement.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "cost/database/cost_database.h"
#include "cost/timing/timing.h"
#include "runtime/launches/backend.h"

namespace soapstone::cost {

/// Times all candidates of the launch, and tells the backend to use the fastest from now on.
/// Without candidates: time_launch(). Errors: its.
core::Result<Measurement> time_best_kernel(runtime::Backend& backend, const core::Graph& graph,
                                           const runtime::Launch& launch,
                                           const runtime::LaunchLayouts& layouts,
                                           const TimingOptions& options);

/// Tells the backend to run the launches of the graph as they ran fastest when they were measured
/// on such a device. Returns how many of them are known.
std::size_t recall_kernels(runtime::Backend& backend, const core::Graph& graph,
                           runtime::Fusion fusion, const CostDatabase& database);

}  // namespace soapstone::cost
