// What a step takes on a mesh of some shape. Knows the model and the machine, and does not search.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "parallel/planning/mesh_plan_options.h"
#include "parallel/planning/step_bound.h"
#include "parallel/step/plan.h"
#include "parallel/step/step_time.h"

namespace soapstone::parallel {

/// Bytes on a device in which weights are exchanged, as frameworks do unless they are told
/// otherwise.
inline constexpr double kUsualBucket = 25e6;

/// How much exchanges of weights count where passes hide most of them.
inline constexpr double kHiddenSums = 0.05;

/// What may differ from one evaluation of a shape to the next.
struct MeshWeights {
  double us_per_byte = 0;  ///< Price of memory.
  double sums = 1;         ///< How much of what is exchanged for weights counts.
  std::size_t most_cases = EliminationOptions{}.most_cases;  ///< Of the search for cuts.
};

class MeshEvaluator {
 public:
  /// All but `is_weight` must outlive this.
  MeshEvaluator(const core::Graph& graph, const std::vector<bool>& is_weight,
                const Topology& topology, const MeshPlanOptions& options);

  std::int64_t devices() const { return devices_; }
  std::int64_t nodes() const { return static_cast<std::int64_t>(order_.nodes.size()); }
  std::int64_t batch() const { return batch_; }    ///< Samples of a step.
  double memory_bytes() const { return memory_; }  ///< Of a device.
  /// Whether computing attention again is a choice of its own.
  bool can_recompute_attention() const { return selective_work_.has_value(); }
  /// Whether positions on its outermost axis have devices of different rates.
  bool can_be_uneven(const MeshShape& shape) const;
  bool is_training() const { return options_.is_training; }

  /// Errors: kUnsupported.
  core::Status check(const Premises& premises) const {
    return check_premises(premises, graph_, loops_, work_, options_.is_training, devices_);
  }
  /// Which premise the plan breaks; empty if it breaks none.
  std::string broken(const Premises& premises, const MeshPlan& plan) const {
    return broken_premise(premises, graph_, work_, plan);
  }

  /// The best cuts on that shape that the freedom admits. The cost of the sharding is kImpossible
  /// if there are none, or if they break a premise. For several threads.
  MeshPlan plan_at(const Freedom& freedom, const MeshShape& shape,
                   const MeshWeights& weights) const;
  /// Looks for faster plans of that shape that fit, if the model is small (refinement.h). Returns
  /// whether none is left that would be faster than `plan`, as it is then, and than `limit_us`. For
  /// several threads.
  bool refine(const Freedom& freedom, double limit_us, MeshPlan& plan) const;
  /// No plan's step takes less.
  StepBound lower_bound() const;

 private:
  /// The inputs that all plans of a shape share.
  struct ShapeContext {
    ShardingOptions sharding;
    StepWork work;
    std::optional<UnevenAxis> uneven;
    std::vector<std::int64_t> axis_sizes;
  };
  ShapeContext context_of(const Freedom& freedom, const MeshShape& shape,
                          const MeshWeights& weights) const;
  /// Completes a plan that has its shape and its sharding.
  void complete(const Freedom& freedom, const ShapeContext& context, const Mesh& mesh,
                MeshPlan& plan) const;
  const DeviceKind& slowest_kind() const;
  double least_memory_bytes() const;
  core::DataType narrowest_weight(const std::vector<bool>& is_weight) const;
  std::int64_t batch_size(const std::vector<bool>& is_weight) const;
  double forward_us(const DeviceKind& kind) const;
  std::vector<Slowness> slowness_of_stages(const MeshShape& shape) const;
  const std::vector<Path>& handovers_of(const MeshShape& shape) const;
  std::optional<UnevenAxis> uneven_axis(const MeshShape& shape) const;
  ShardingOptions sharding_options(const Freedom& freedom, const MeshShape& shape,
                                   const MeshWeights& weights) const;
  void fix_outer_axes(const StepWork& work, const std::vector<std::int64_t>& sizes,
                      ShardingOptions& sharding) const;

  const core::Graph& graph_;
  const Topology& topology_;
  const MeshPlanOptions& options_;
  std::int64_t devices_;
  std::int64_t batch_ = 1;
  core::DataType weight_type_ = core::DataType::kFloat32;
  GraphLoops loops_;
  StepWork work_;
  std::optional<StepWork> selective_work_;  ///< If attention is computed again.
  ComputeRates rates_;                      ///< Of the slowest kind.
  std::vector<Slowness> slowness_;  ///< Of each kind, relative to it; empty if all are alike.
  double memory_ = 0;
  double weight_bytes_ = 0;  ///< Of all weights.
  ModelOrder order_;
  std::vector<bool> residuals_;  ///< By tensor: it lies between blocks.
  mutable std::mutex handovers_mutex_;
  mutable std::map<std::pair<std::int64_t, bool>, std::vector<Path>> handovers_;
};

}  // namespace soapstone::parallel
