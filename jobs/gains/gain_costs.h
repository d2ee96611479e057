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
/// `kind`: roofline or measured. Errors: kUnavailable.
core::Result<GainCosts> make_gain_costs(const std::string& kind, const DeviceRequest& device);
/// Fewer sizes where each is timed.
GainOptions gain_options(const GainCosts& costs, std::uint64_t seed);

}  // namespace soapstone::jobs
