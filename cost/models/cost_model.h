// The cost of a graph: the sum over the launches that a backend would make. Operators computed from
// constants alone cost nothing at inference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/backend.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::cost {

struct LaunchCost {
  double cost_us = 0;
  double spread_us = 0;    ///< Upper minus lower quartile of the samples; 0 for an estimate.
  bool estimated = false;  ///< Not measured: wherever it is shown, it is called an estimate.
};

struct GraphCost {
  double total_us = 0;
  double estimated_us = 0;  ///< The part of it that is estimated.
  std::size_t launches = 0;
  double estimated_share() const { return total_us > 0 ? estimated_us / total_us : 0; }
};

/// Safe from several threads.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Never fails: what cannot be measured is estimated and says so.
  virtual GraphCost graph_cost(const core::Graph& graph) = 0;
  /// How much more the second graph costs than the first, of which a few rewrites have made it:
  /// the launches that differ are priced alone. None: the model cannot say without all of them.
  /// A change of the order of nodes far from the rewrites is not seen.
  virtual std::optional<double> cost_change_us(const core::Graph&, const core::Graph&) {
    return std::nullopt;
  }
  /// True if it times kernels: then it is called from one thread while all others rest.
  virtual bool needs_quiet_machine() const { return false; }
  /// True if its costs are times of kernels, taken now or recorded earlier.
  virtual bool is_timed() const { return needs_quiet_machine(); }
  /// True if no launch costs less than its first operator alone: then what single operators cost at
  /// least bounds what graphs cost.
  virtual bool is_monotone() const { return false; }
  /// The fusion rules of the device whose costs these are. A model without a device has those of no
  /// device in particular.
  virtual const runtime::FusionRules& fusion_rules() const {
    return runtime::generic_fusion(runtime::Fusion::kFull);
  }
  /// A launch, its cost and what runs it, for reports. In the order in which they run.
  struct Item {
    std::string what;
    LaunchCost cost;
    std::string implementation;
  };
  virtual std::vector<Item> breakdown(const core::Graph& graph) = 0;
  /// "roofline, 15.7 TFLOP/s, 900 GB/s" or the device's key.
  virtual std::string description() const = 0;
};

struct RooflineParameters {
  double launch_us = 5;
  double flops_per_s = 15.7e12;
  double bytes_per_s = 900e9;
};
/// launch_us + flops / flops_per_s + bytes / bytes_per_s a launch, in exact agreement between runs
/// and machines. `rules` are those of the device (Backend::fusion) and must outlive the result.
std::unique_ptr<CostModel> make_roofline_cost(const runtime::FusionRules& rules,
                                              const RooflineParameters& parameters = {});
/// A roofline for no device in particular.
std::unique_ptr<CostModel> make_roofline_cost(runtime::Fusion fusion,
                                              const RooflineParameters& parameters = {});

}  // namespace soapstone::cost
