// cost_rules(): which rules can make a model faster by themselves, and which only enable others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/models/measured_cost.h"
#include "jobs/base/context.h"
#include "jobs/deployment/deployment.h"
#include "jobs/devices/devices.h"
#include "jobs/gains/rule_gain.h"

namespace soapstone::jobs {

struct CostRulesRequest {
  std::vector<std::string> files;
  DeviceRequest device;
  GainKind costs = GainKind::kRoofline;
  std::uint64_t seed = 1;
  bool time = false;    ///< Also runs both sides of what pays, whole and in turn.
  int rounds = 40;      ///< Most times that a side is timed.
  double time_s = 0.5;  ///< For timing one rule.
  /// Where measured costs come from; kAuto is our executor, on `device`, if nothing else is there.
  RuntimeRequest runtime;
};

/// A rule with all its instances.
struct CostedRule {
  std::string rule, equation;
  std::size_t instances = 0;
  RuleGain gain;
  std::optional<cost::Comparison> timed;

  bool is_faster() const { return timed && timed->ratio.low > 1; }
};

struct CostRulesOutcome {
  std::vector<CostedRule> rules;
  std::string costs;        ///< GainCosts::name
  std::string description;  ///< GainCosts::description()
};

/// Errors: kUsage if a roofline is to be timed or has a runtime, or there are to be no costs; those
/// of reading rules; kUnavailable; kInterrupted.
core::Result<CostRulesOutcome> cost_rules(const CostRulesRequest& request,
                                          const Context& context = {});

}  // namespace soapstone::jobs
