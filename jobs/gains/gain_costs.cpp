// See gain_costs.h.
#include "jobs/gains/gain_costs.h"

#include "cost/models/measured_cost.h"

namespace soapstone::jobs {

core::Result<GainCosts> make_gain_costs(const std::string& kind, const DeviceRequest& device) {
  GainCosts costs;
  if (kind == "roofline") {
    costs.model = cost::make_roofline_cost(device.fusion);
    costs.name = kind;
    return costs;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(costs.backend, make_backend(device));
  SOAPSTONE_ASSIGN_OR_RETURN(costs.database, open_costs(device));
  costs.model = cost::make_measured_cost(*costs.backend, device.fusion, costs.database.get());
  costs.name = costs.backend->device().key();
  return costs;
}

GainOptions gain_options(const GainCosts& costs, std::uint64_t seed) {
  if (!costs.model->needs_quiet_machine()) return {.seed = seed};
  return {.instances = 2, .sizes = 3, .seed = seed};
}

}  // namespace soapstone::jobs
