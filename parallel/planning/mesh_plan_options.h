// What is asked of a plan on meshes, and what a strategy may do to answer.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "parallel/planning/premises.h"
#include "parallel/sharding/sharding.h"
#include "parallel/topology/topology.h"
#include "parallel/training/optimizer.h"

namespace soapstone::parallel {

/// Bytes on a device in which weights are exchanged, as frameworks do unless they are told
/// otherwise.
inline constexpr double kUsualBucket = 25e6;

/// Sizes that a plan must have; none: they are searched.
struct FixedSizes {
  std::optional<std::int64_t> model, any, stages, microbatches, chunks, loss_chunks;
  std::optional<Recompute> recompute;
  std::optional<double> bucket_bytes;  ///< In which weights are exchanged.
  bool sums_behind = false;            ///< As in MeshShape.
};

/// What a strategy may do; the named ones forbid some of it.
struct Freedom : FixedSizes {
  std::vector<AxisPolicy> policies = {AxisPolicy::kNoBatch, AxisPolicy::kAny, AxisPolicy::kBatch};
  bool pipelines = true;
  bool cuts_states = true;
  bool cuts_gradients = true;  ///< Those of weights, where a step has one microbatch.
  bool cuts_weights = true;
  bool always_cuts_weights = false;  ///< Into as many pieces as they can be.
  /// Along which axes weights may be cut beyond what their readers want.
  std::array<bool, 3> weight_axes{true, true, true};
  bool cuts_heads = false;  ///< As in ChoiceOptions.
  /// Tensors between the blocks of a model are whole along the innermost axis.
  bool keeps_residuals_whole = false;
  bool keeps_pieces = false;  ///< As in ShardingOptions.
  /// Weights are gathered forward alone; none: whichever is better.
  std::optional<bool> gathers_once;
  bool cuts_unevenly = true;  ///< Faster devices may get larger parts.
  /// A stage is a node of the machine: the devices of its innermost level.
  bool has_stage_a_node = false;
  bool has_any_a_node = false;  ///< The axis for anything is a node of the machine.
  /// In two along the slowest links, what is left in two again, then the rest at once; each cut is
  /// the best one behind those before it.
  bool bisects = false;
  Premises premises;
};

struct MeshPlanOptions {
  bool is_training = false;
  Optimizer optimizer = Optimizer::kAdam;
  /// Floating tensors count as if they had that type; weights then have a master copy.
  std::optional<core::DataType> precision;
  Attention attention = Attention::kStored;
  std::optional<std::int64_t> devices;    ///< The first ones; none: all.
  std::optional<double> memory_bytes;     ///< A device's; none: what it has.
  int threads = 1;                        ///< Changes nothing but the time it takes; 0: all cores.
  Freedom freedom;                        ///< The strategy's.
  FixedSizes sizes;                       ///< In addition.
  const PartTimes* part_times = nullptr;  ///< What was measured; null: nothing. Must outlive this.
};

/// With the sizes that follow from the machine, and those that every plan must have. Errors:
/// kUnsupported if the machine has no nodes or too few devices for the strategy, or if it fixes
/// other sizes.
core::Result<Freedom> freedom_on(const Topology& topology, std::int64_t devices, Freedom freedom,
                                 const FixedSizes& sizes);

}  // namespace soapstone::parallel
