// See device_options.h.
#include "cli/device_options.h"

#include "cpu/cpu_backend.h"

namespace soapstone::cli {

runtime::Fusion DeviceOptions::fusion_level() const {
  return runtime::parse_fusion(fusion).value_or(runtime::Fusion::kFull);
}

void add_device_options(CLI::App& app, DeviceOptions& options) {
  app.add_option("--device", options.device, "Device to run on: cpu, or reference (slow, exact)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"cpu", "reference"}).description(""))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that a kernel may use")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str();
}

void add_fusion_option(CLI::App& app, DeviceOptions& options) {
  app.add_option("--fusion", options.fusion,
                 "What one kernel may take in behind a convolution or matmul: none, activation, "
                 "full")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"none", "activation", "full"}).description(""))
      ->capture_default_str();
}

void add_cost_db_option(CLI::App& app, DeviceOptions& options) {
  app.add_option("--cost-db", options.costs,
                 "Database of measured costs; none keeps nothing [" +
                     cost::CostDatabase::default_path().string() + "]")
      ->type_name("FILE");
}

core::Result<std::unique_ptr<runtime::Backend>> make_backend(const DeviceOptions& options) {
  if (options.device == "reference") return runtime::make_reference_backend();
  return cpu::make_cpu_backend({.threads = options.threads});
}

core::Result<std::unique_ptr<cost::CostDatabase>> open_costs(const DeviceOptions& options) {
  if (options.costs == "none") return std::unique_ptr<cost::CostDatabase>();
  return cost::CostDatabase::open(options.costs.empty() ? cost::CostDatabase::default_path()
                                                        : std::filesystem::path(options.costs));
}

}  // namespace soapstone::cli
