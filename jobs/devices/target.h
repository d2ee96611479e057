// Costs of a device that need not be here: measured before, where it is, and estimated otherwise.
#pragma once

#include <memory>
#include <string>

#include "cost/models/cost_model.h"
#include "jobs/devices/devices.h"

namespace soapstone::jobs {

/// `target`: a name ("h200"), whose costs are looked up in the database of `request`, or a file of
/// one device's costs, as measure_costs() writes it. Errors: kUsage for a name that nobody has;
/// kInvalidInput for a file that is none, or is of several devices; kUnavailable.
core::Result<std::shared_ptr<cost::CostModel>> open_target(const std::string& target,
                                                           const DeviceRequest& request);

}  // namespace soapstone::jobs
