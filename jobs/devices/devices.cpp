// See devices.h.
#include "jobs/devices/devices.h"

#include <filesystem>

#include "cpu/cpu_backend.h"

namespace soapstone::jobs {

core::Result<std::unique_ptr<runtime::Backend>> make_backend(const DeviceRequest& request) {
  if (request.device == DeviceKind::kReference) return runtime::make_reference_backend();
  return cpu::make_cpu_backend({.threads = request.threads});
}

core::Result<std::unique_ptr<cost::CostDatabase>> open_costs(const DeviceRequest& request) {
  if (request.costs == "none") return std::unique_ptr<cost::CostDatabase>();
  return cost::CostDatabase::open(request.costs.empty() ? cost::CostDatabase::default_path()
                                                        : std::filesystem::path(request.costs));
}

}  // namespace soapstone::jobs
