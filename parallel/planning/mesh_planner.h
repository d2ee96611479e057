// Plans a model on a machine of many alike devices: pipeline stages, microbatches and a mesh in
// each stage. Sizes of the mesh are searched, cuts of nodes on each mesh are the best there are.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "parallel/planning/mesh_evaluation.h"
#include "parallel/step/plan.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

struct MeshPlanOutcome {
  MeshPlan plan;
  StepBound lower_bound;  ///< Filled in by the functions that take a graph.
  std::size_t meshes_tried = 0;
  double memory_bytes = 0;  ///< The least that a device that is used has, or the limit.
  bool fits = true;         ///< False: the least memory found is more than there is.
  /// No choice of cuts and layouts is faster on a shape that was tried, whatever it is: all that
  /// could be were looked at. False where they were too many, and for larger models.
  bool has_looked_at_all = false;
};

/// Errors: kInvalidInput if there are not so many devices, or their number does not divide that of
/// the machine's.
core::Status check_devices(const Topology& topology, const MeshPlanOptions& options);

/// A plan that fits and takes `enough_us` is of no use: the search may end without looking for such
/// plans, or with one. Errors: kUnsupported if the model, the batch or the number of devices is
/// none for the strategy; kInterrupted: stopped before there was a plan.
core::Result<MeshPlanOutcome> plan_on_meshes(const MeshEvaluator& evaluator, const Freedom& freedom,
                                             double enough_us, int threads,
                                             core::ProgressSink& progress,
                                             const core::StopToken& stop);

/// The same with the freedom of the options. `is_weight` by tensor. Errors: those of
/// check_devices(); kUnsupported also if the machine is none for the strategy.
core::Result<MeshPlanOutcome>
plan_on_meshes(const core::Graph& graph, const std::vector<bool>& is_weight,
               const Topology& topology, const MeshPlanOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop);

}  // namespace soapstone::parallel
