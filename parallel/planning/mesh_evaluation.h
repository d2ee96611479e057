// What a step takes on a mesh of some shape. Knows the model and the machine, and does not search.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "parallel/planning/mesh_plan_options.h"
#include "parallel/planning/refinement.h"
#include "parallel/planning/step_bound.h"
#include "parallel/step/plan.h"
#include "parallel/step/step_time.h"
#include "parallel/work/loss_region.h"

namespace soapstone::parallel {

/// How much exchanges of weights count where passes hide most of them.
inline constexpr double kHiddenSums = 0.05;

/// What may differ from one evaluation of a shape to the next.
struct MeshWeights {
  double us_per_byte = 0;  ///< Price of memory.
  double sums = 1;         ///< How much of what is exchanged for weights counts.
  std::size_t most_cases =
      EliminationOptions{}.most_cases;  ///< The search for cuts looks at so many.
};

/// How much of the whole model the slowest stage does at least. Times are as on slowest devices.
struct StageShares {
  double slowest = 1;       ///< The slowest stage's share of the work of all, at least.
  double fastest = 1;       ///< How long the fastest stage takes for work, as a share.
  double updates = 1;       ///< As `slowest`, of the updates of all stages.
  double handovers_us = 0;  ///< Latencies on the way of a microbatch through all pieces.
};

class MeshEvaluator {
 public:
  /// All but `is_weight` must outlive this.
  MeshEvaluator(const core::Graph& graph, const std::vector<bool>& is_weight,
                const Topology& topology, const MeshPlanOptions& options);

  std::int64_t devices() const { return devices_; }
  std::int64_t nodes() const { return static_cast<std::int64_t>(order_.nodes.size()); }
  std::int64_t batch() const { return batch_; }    ///< Samples of a step.
  double memory_bytes() const { return memory_; }  ///< A device's.
  /// Whether a step that computes that again differs from one that computes less again.
  bool can_recompute(Recompute what) const;
  /// Samples, tokens or the like, which chunks of the loss share; 0: it cannot be cut.
  std::int64_t rows_of_loss() const { return loss_.rows; }
  /// Whether the loss can be computed in as many chunks as the shape has.
  bool can_cut_loss(const MeshShape& shape) const;
  /// Whether positions on its outermost axis have devices of different rates.
  bool can_be_uneven(const MeshShape& shape) const;
  bool is_training() const { return options_.is_training; }
  bool has_unlike_devices() const { return !slowness_.empty(); }
  bool has_measured_parts() const { return options_.part_times != nullptr; }
  bool has_measured_exchanges() const { return topology_.measured() != nullptr; }

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
  /// Looks for faster plans of that shape that fit, if the model is small (refinement.h). For
  /// several threads.
  RefinementEffort refine(const Freedom& freedom, double limit_us, std::int64_t most,
                          MeshPlan& plan) const;
  /// The same cuts with the number of pieces and the buckets that the plan says. For several
  /// threads.
  MeshPlan timed_again(const Freedom& freedom, MeshPlan plan) const;
  /// No plan's step takes less, whatever its shape, as nothing is exchanged.
  StepBound lower_bound() const;
  /// The work of one of so many microbatches, at least, whatever is computed again.
  StepWork least_work(std::int64_t microbatches) const;
  /// The passes of one microbatch, whose work that is, through all stages of the shape's number and
  /// kind, if nothing is exchanged. Times are as on slowest devices where the shape is even.
  PassesBound least_passes(const MeshShape& shape, const StepWork& work) const;
  /// No step on a mesh with these stages, microbatches and evenness takes less, in however many
  /// pieces, as its passes alone do not. For several threads.
  double least_step_us(const MeshShape& shape) const;
  /// Costs least among the cuts of all shapes with these sizes, whatever is computed again and
  /// however often weights are gathered; whether or not it fits. `lower_bound_us` and `parts` are
  /// no more than those of a step. For several threads.
  Sharding least_sharding(const MeshShape& sizes, const StepWeights& weights) const;
  /// How the stages of a pipeline share what all have to do. With several chunks: two or more.
  StageShares stage_shares(const MeshShape& shape) const;

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
  StepBoundInput bound_input() const;
  const DeviceKind& slowest_kind() const;
  double least_memory_bytes() const;
  const StepWork& work_of(Recompute what) const;
  void add_recomputation();
  core::DataType narrowest_weight(const std::vector<bool>& is_weight) const;
  std::int64_t batch_size(const std::vector<bool>& is_weight) const;
  double forward_us(const DeviceKind& kind) const;
  std::vector<Slowness> slowness_of_stages(const MeshShape& shape) const;
  Mesh mesh_of(const std::vector<std::int64_t>& sizes, std::size_t first_axis,
               std::optional<UnevenAxis> uneven = std::nullopt) const;
  /// See shape_of_axis().
  const GroupShape& group_of(std::int64_t stride, std::int64_t count) const;
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
  std::map<Recompute, StepWork> again_;  ///< The work where some of it is done again.
  bool can_compute_all_again_ = false;   ///< Less is kept then than at any other level.
  LossRegion loss_;
  ComputeRates rates_;              ///< The slowest kind's.
  std::vector<Slowness> slowness_;  ///< Each kind's, relative to it; empty if all are alike.
  double memory_ = 0;
  double weight_bytes_ = 0;     ///< All weights together.
  double exchanged_bytes_ = 0;  ///< All weights, once for each that reads them and once more.
  ModelOrder order_;
  std::vector<bool> residuals_;  ///< By tensor: it lies between blocks.
  /// These follow from the routes of the machine, which may be long to walk.
  mutable std::mutex routes_mutex_;
  mutable std::map<std::pair<std::int64_t, std::int64_t>, GroupShape> groups_;
  mutable std::map<std::pair<std::int64_t, bool>, std::vector<Path>> handovers_;
  mutable std::mutex bounds_mutex_;
  /// The key is stages, microbatches, and whether the shape is uneven.
  mutable std::map<std::tuple<std::int64_t, std::int64_t, bool>, double> least_step_us_;
};

}  // namespace soapstone::parallel
