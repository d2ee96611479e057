// How long a stage of a described plan computes on one of its devices, by the profiles: times of
// layers add, and a microbatch between two that were profiled is interpolated.
#pragma once

#include "core/base/result.h"
#include "parallel/described/described_plan.h"
#include "parallel/described/profiles.h"

namespace soapstone::parallel {

/// Units: seconds. Passes are of one microbatch.
struct StageTimes {
  double forward_s = 0, backward_s = 0;
  /// Gradients are copied into buckets, scaled and copied back, whether or not there are replicas.
  double buckets_s = 0;
  double update_s = 0;
  double pass_s = 0;  ///< A kernel takes so long to read or write an element.
};

/// One GPU's share in all layers of a stage. Bytes are of one sample.
struct StageSizes {
  double parameters = 0;  ///< Elements.
  double parameter_bytes = 0;
  double saved_bytes = 0;          ///< The forward pass keeps them for the backward pass.
  double largest_saved_bytes = 0;  ///< One layer has no more.
  double output_bytes = 0;         ///< The last layer's, not cut.
};

/// Errors: kUnavailable if the profiles have not the model, or not at this degree of tensor
/// parallelism; kInvalidInput if the model has no such layer.
core::Result<StageSizes> stage_sizes(const Profiles& profiles, const DescribedPlan& plan,
                                     std::size_t stage);

/// Errors: kUnavailable if the profiles have not a device of the plan; kInvalidInput if one has not
/// so many GPUs in a node as a replica needs.
core::Status check_devices(const Profiles& profiles, const DescribedPlan& plan);

/// The profile has no backward pass of an embedding (it reads no gradient of its input): it is
/// counted by its passes over memory, at the rate at which Adam passes over it. Precondition:
/// check_devices() holds. Errors: those of stage_sizes(); kUnavailable if there are no times of the
/// model, the device and the degree of tensor parallelism.
core::Result<StageTimes> stage_times(const Profiles& profiles, const DescribedPlan& plan,
                                     std::size_t stage, std::size_t replica);

}  // namespace soapstone::parallel
