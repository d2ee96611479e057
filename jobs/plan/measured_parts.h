// Times of parts of a model's nodes on one device, measured through a cost model when a plan that
// is the best so far has them.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cost/models/cost_model.h"
#include "jobs/base/context.h"
#include "parallel/sharding/part_times.h"
#include "parallel/step/plan.h"

namespace soapstone::jobs {

/// How many times as long parts take in a step as alone, when they are measured.
struct PartSlowdown {
  double contractions = 1, others = 1;
};

class MeasuredParts final : public parallel::PartTimes {
 public:
  /// `graph` and `costs` must outlive this; `seconds`: most that measuring may take in all.
  MeasuredParts(const core::Graph& graph, const std::vector<bool>& is_weight,
                cost::CostModel& costs, double seconds, PartSlowdown slowdown = {});

  double forward_us(core::NodeId node, std::span<const std::int64_t> lengths,
                    double estimate_us) const override;
  double least_scale(core::NodeId node) const override;

  /// Measures what the plan runs and is not known yet, as long as there is time left. Returns
  /// whether a search may find another plan now. Nobody may ask for times meanwhile.
  bool learn(const parallel::MeshPlan& plan, const Context& context);

  /// Of the time that devices spend in a step, the share that is not measured: gradients, updates,
  /// exchanges, and what could not be timed.
  double estimated_share(const parallel::MeshPlan& plan) const;

 private:
  /// Equal nodes share a number; lengths of loops.
  using Key = std::pair<std::size_t, std::vector<std::int64_t>>;
  struct Known {
    double estimate_us = 0;  ///< The largest: nodes that are alike may do more or less.
    bool was_tried = false;
    std::optional<double> us;
  };
  /// What was measured of a kind of nodes, and what had been estimated.
  struct Sums {
    double measured_us = 0, estimated_us = 0;
    double scale() const { return estimated_us > 0 ? measured_us / estimated_us : 1; }
  };

  Key key_in(const parallel::MeshPlan& plan, core::NodeId node) const;
  bool is_contraction(core::NodeId node) const;
  std::optional<double> timed(core::NodeId node, std::span<const std::int64_t> lengths);

  const core::Graph& graph_;
  cost::CostModel& costs_;
  const PartSlowdown slowdown_;
  const parallel::GraphLoops loops_;
  std::vector<std::size_t> kinds_;  // by node
  mutable std::mutex mutex_;
  mutable std::map<Key, Known> known_;  // all that searches have asked for
  Sums contractions_, others_;
  std::map<std::size_t, double> least_scale_;  // by kind of node
  double seconds_left_;
};

}  // namespace soapstone::jobs
