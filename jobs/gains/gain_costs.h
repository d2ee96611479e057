// The costs by which jobs say what a rule gains.
#pragma once

#include <memory>
#include <string>

#include "jobs/base/context.h"
#include "jobs/devices/devices.h"
#include "jobs/gains/pair_clock.h"
#include "jobs/gains/rule_gain.h"

namespace soapstone::jobs {

struct GainCosts {
  std::unique_ptr<runtime::Backend> backend;     ///< Null for the roofline and in a runtime.
  std::unique_ptr<cost::CostDatabase> database;  ///< May be null.
  std::unique_ptr<cost::CostModel> model;        ///< Null in a runtime.
  std::unique_ptr<PairClock> clock;              ///< The runtime in which both sides are timed.
  std::string name;  ///< `roofline`, the device's key, or what the runtime calls itself.

  /// `stop` and the costs themselves must outlive the result.
  PairCosts pairs(const core::StopToken& stop) const;
  std::string description() const { return clock ? clock->runtime() : model->description(); }
};

/// By which costs gains are told, and where those are measured.
struct GainRequest {
  GainKind kind = GainKind::kRoofline;
  DeviceRequest device;
  RuntimeRequest runtime;  ///< Of kMeasured.
};
/// Timing ends soon after the context's token, which must outlive the result: what it gives then
/// are estimates.
/// Errors: kUsage for GainKind::kNone, or a runtime for a roofline; kUnavailable.
core::Result<GainCosts> make_gain_costs(const GainRequest& request, const Context& context);
/// Fewer sizes where each is timed.
GainOptions gain_options(const GainCosts& costs, std::uint64_t seed, const core::StopToken& stop);

}  // namespace soapstone::jobs
