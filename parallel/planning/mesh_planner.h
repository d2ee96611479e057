// Plans a model on a machine of many alike devices: pipeline stages, microbatches and a mesh in
// each stage. Sizes of the mesh are searched, cuts of nodes on each mesh are the best there are.
#pragma once

#include <optional>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "parallel/planning/plan.h"
#include "parallel/topology/topology.h"
#include "parallel/training/optimizer.h"

namespace soapstone::parallel {

/// What a strategy may do; the named ones forbid some of it.
struct Freedom {
  std::vector<AxisPolicy> policies = {AxisPolicy::kNoBatch, AxisPolicy::kAny, AxisPolicy::kBatch};
  bool pipelines = true;
  bool cuts_states = true;
  bool cuts_weights = true;
  std::optional<std::int64_t> model, any, stages, microbatches, chunks;  ///< Fixed sizes.
  std::optional<bool> recomputes;                                        ///< Fixed.
};

struct MeshPlanOptions {
  bool is_training = false;
  Optimizer optimizer = Optimizer::kAdam;
  /// Floating tensors count as if they had that type; weights then have a master copy.
  std::optional<core::DataType> precision;
  Attention attention = Attention::kStored;
  std::optional<std::int64_t> devices;  ///< The first ones; none: all.
  std::optional<double> memory_bytes;   ///< Of a device; none: what it has.
  Freedom freedom;
};

struct MeshPlanOutcome {
  MeshPlan plan;
  /// No plan takes less: the operations of all contractions, each device at its best rate.
  double lower_bound_us = 0;
  std::size_t meshes_tried = 0;
  bool fits = true;  ///< False: the least memory found is more than there is.
};

/// `is_weight` by tensor. Errors: kInvalidInput if there are not so many devices; kUnsupported if
/// the batch is too small for what the strategy may cut; kInterrupted: stopped before there was a
/// plan.
core::Result<MeshPlanOutcome>
plan_on_meshes(const core::Graph& graph, const std::vector<bool>& is_weight,
               const Topology& topology, const MeshPlanOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop);

}  // namespace soapstone::parallel
