// The costs by which jobs say what a rule gains.
#pragma once

#include <memory>
#include <string>

#include "jobs/devices/devices.h"
#include "jobs/gains/rule_gain.h"

namespace soapstone::jobs {

struct GainCosts {
  std::unique_ptr<runtime::Backend> backend;     ///< Null for the roofline.
  std::unique_ptr<cost::CostDatabase> database;  ///< May be null.
  std::unique_ptr<cost::CostModel> model;
  std::string name;  ///< `roofline`, or the device's key.
};
/// Timing ends soon after `stop`, which must outlive the result: what it gives then are estimates.
/// Errors: kUsage for GainKind::kNone; kUnavailable.
core::Result<GainCosts> make_gain_costs(GainKind kind, const DeviceRequest& device,
                                        const core::StopToken& stop);
/// Fewer sizes where each is timed.
GainOptions gain_options(const GainCosts& costs, std::uint64_t seed, const core::StopToken& stop);

}  // namespace soapstone::jobs
