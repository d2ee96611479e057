// Estimates the gain of a rule: costs both sides at realistic sizes, as whole graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "cost/models/cost_model.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

/// The costs by which gains are estimated.
enum class GainKind : std::uint8_t {
  kNone,      ///< Gains are not estimated.
  kRoofline,  ///< A formula, the same on every machine.
  kMeasured,  ///< Timed: kernels on the device, or both sides in a runtime.
};
/// "none", "roofline", "measured"
std::string_view to_string(GainKind kind);

struct GainOptions {
  std::size_t instances = 6;  ///< Instances of a rule to cost, spread over all of them.
  std::size_t sizes = 12;     ///< Sizes at which each instance is costed.
  std::uint64_t seed = 1;
  const core::StopToken* stop = nullptr;  ///< Ends the costing between two trials; may be null.
};

/// A rule with numbers, its weights in place.
struct Trial {
  std::string instance;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  /// Inputs that are constants here; what is computed from these alone costs nothing.
  std::vector<std::string> constants;
  core::Graph source, target;
};
/// Each with its usual weights as constants and, where these may be computed, with them as inputs.
std::vector<Trial> trials(std::span<const rules::Rule> instances, const GainOptions& options);

struct RuleGain {
  std::size_t trials = 0;  ///< 0: no realistic sizes fit the rule.
  Trial trial;             ///< The trial at which the source costs most compared with the target.
  double source_us = 0, target_us = 0;
  double spread_us = 0;    ///< Spread of both measurements; 0 for an estimate.
  bool estimated = false;  ///< A part at least.

  /// Whether the source costs anything: what is computed from weights alone does not.
  bool has_cost() const { return source_us > 0; }
  /// Infinite if nothing is left to run. Precondition: has_cost().
  double speedup() const;
  /// More than the spread, and more than 0.5 %.
  bool pays() const;
};

/// What both sides of a trial cost.
struct PairCost {
  double source_us = 0, target_us = 0;
  double spread_us = 0;  ///< Of both.
  bool estimated = false;
};
/// None: the source costs nothing, or the sides cannot be costed.
using PairCosts = std::function<core::Result<std::optional<PairCost>>(const Trial& trial)>;
/// `costs` must outlive the result, which makes no errors.
PairCosts pair_costs(cost::CostModel& costs);

/// The best of all trials, or of those before the stop. `instances` are those of one rule.
/// Errors: those of `costs`.
core::Result<RuleGain> best_gain(std::span<const rules::Rule> instances, const PairCosts& costs,
                                 const GainOptions& options);

/// `pays: 1.83x at m=128, k=512, n=512, weights constant (roofline)`, or that it enables others.
std::string gain_text(const RuleGain& gain, std::string_view costs);

}  // namespace soapstone::jobs
