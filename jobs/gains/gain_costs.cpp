// See gain_costs.h.
#include "jobs/gains/gain_costs.h"

#include "cost/models/measured_cost.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {

core::Result<GainCosts> make_gain_costs(GainKind kind, const DeviceRequest& device,
                                        const core::StopToken& stop) {
  GainCosts costs;
  if (kind == GainKind::kNone)
    return usage_error("gains need costs, but `costs` is none", "choose roofline or measured");
  if (kind == GainKind::kRoofline) {
    costs.model = cost::make_roofline_cost(device.fusion);
    costs.name = to_string(kind);
    return costs;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(costs.backend, make_backend(device));
  SOAPSTONE_ASSIGN_OR_RETURN(costs.database, open_costs(device));
  costs.model = cost::make_measured_cost(*costs.backend, device.fusion, costs.database.get(),
                                         {.stop = &stop});
  costs.name = costs.backend->device().key();
  return costs;
}

GainOptions gain_options(const GainCosts& costs, std::uint64_t seed, const core::StopToken& stop) {
  if (!costs.model->needs_quiet_machine()) return {.seed = seed, .stop = &stop};
  return {.instances = 2, .sizes = 3, .seed = seed, .stop = &stop};
}

}  // namespace soapstone::jobs
