// See part_costs.h.
#include "jobs/plan/part_costs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/models/measured_cost.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

/// What topologies call a thread of the machine that plans.
constexpr std::string_view kThisMachine = "cpu";

core::Status check_recorded(const cost::CostDatabase* database, const std::string& key) {
  std::vector<std::string> known;
  if (database)
    for (const cost::CostDatabase::Device& device : database->devices())
      known.push_back(device.key);
  if (std::ranges::find(known, key) != known.end()) return core::Done{};
  return core::unavailable(fmt::format("there are no measured costs of '{}'", key),
                           known.empty()
                               ? "plan with estimated `costs`; the database has none"
                               : fmt::format("plan with estimated `costs`; the database has {}",
                                             fmt::join(known, "; ")));
}

}  // namespace

core::Result<PartCosts> open_part_costs(const PlanRequest& request,
                                        const parallel::Topology& topology,
                                        const Context& context) {
  if (request.precision)
    return usage_error("measured `costs` are of the types that the model has",
                       "plan without `precision`, or with estimated `costs`");
  const std::string& key = topology.kind_of(parallel::DeviceId(0)).cost_key;
  const auto there_are = static_cast<std::int64_t>(topology.device_count());
  for (std::int64_t d = 0; d < std::min(request.devices.value_or(there_are), there_are); ++d) {
    const auto& kind = topology.kind_of(parallel::DeviceId(static_cast<std::size_t>(d)));
    if (kind.cost_key != key)
      return core::unsupported(
          fmt::format("measured `costs` are of one kind of devices, and {} has '{}' and '{}'",
                      topology.name(), key, kind.cost_key),
          "plan with estimated `costs`");
  }
  PartCosts costs;
  SOAPSTONE_ASSIGN_OR_RETURN(costs.backend, make_backend(request.device));
  SOAPSTONE_ASSIGN_OR_RETURN(costs.database, open_costs(request.device));
  const runtime::Fusion fusion = request.device.fusion;
  costs.is_here = key == kThisMachine;
  if (costs.is_here) {
    costs.model = cost::make_measured_cost(*costs.backend, fusion, costs.database.get(),
                                           {.stop = &context.stop});
    return costs;
  }
  SOAPSTONE_RETURN_IF_ERROR(check_recorded(costs.database.get(), key));
  costs.model = cost::make_recorded_cost(*costs.backend, fusion, costs.database.get(), key);
  return costs;
}

}  // namespace soapstone::jobs
