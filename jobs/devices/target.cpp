// See target.h.
#include "jobs/devices/target.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/cpu_backend.h"
#include "jobs/base/usage_error.h"
#include "jobs/devices/cuda_devices.h"

namespace soapstone::jobs {
namespace {

using Devices = std::vector<cost::CostDatabase::Device>;

/// What a recorded cost model looks things up in.
struct Recorded {
  std::unique_ptr<cost::CostDatabase> database;
  std::unique_ptr<runtime::Backend> backend;
  std::unique_ptr<cost::CostModel> model;
};

std::shared_ptr<cost::CostModel> model_of(Recorded recorded, const DeviceRequest& request,
                                          std::string key, cost::DeviceEstimates estimates) {
  const auto kept = std::make_shared<Recorded>(std::move(recorded));
  kept->model = cost::make_recorded_cost(*kept->backend, request.fusion, kept->database.get(),
                                         std::move(key), std::move(estimates));
  return {kept, kept->model.get()};
}

bool is_rounding_key(std::string_view key) { return key.find("tf32") != std::string_view::npos; }

/// The key under which most is known of the device; without one, what a report says instead.
std::string key_of(const std::string& name, const AbsentDevice& device, const Devices& known) {
  std::string key = device.name + ", estimated";
  std::int64_t most = 0;
  for (const auto& [other, count] : known) {
    // Products of rounded factors take another time, and nobody asked for them.
    if (absent_device_of_key(other) != name || is_rounding_key(other) || count <= most) continue;
    key = other;
    most = count;
  }
  return key;
}

core::Result<std::shared_ptr<cost::CostModel>>
open_named(const std::string& name, AbsentDevice device, const DeviceRequest& request) {
  Recorded recorded;
  SOAPSTONE_ASSIGN_OR_RETURN(recorded.database, open_costs(request));
  const Devices known = recorded.database ? recorded.database->devices() : Devices{};
  std::string key = key_of(name, device, known);
  recorded.backend = std::move(device.backend);
  return model_of(std::move(recorded), request, std::move(key), std::move(device.estimates));
}

core::Result<std::shared_ptr<cost::CostModel>> open_file(const std::string& file,
                                                         const DeviceRequest& request) {
  Recorded recorded;
  SOAPSTONE_ASSIGN_OR_RETURN(recorded.database, cost::CostDatabase::in_memory());
  SOAPSTONE_RETURN_IF_ERROR(recorded.database->import_json_lines(file));
  const Devices known = recorded.database->devices();
  if (known.size() != 1) {
    return core::invalid_input(
               fmt::format("costs of {} devices, where a target is one", known.size()),
               "measure-costs writes files of one device")
        .at(file);
  }
  const std::string& key = known.front().key;
  if (auto device = absent_device(absent_device_of_key(key))) {
    recorded.backend = std::move(device->backend);
    return model_of(std::move(recorded), request, key, std::move(device->estimates));
  }
  if (is_gpu_key(key)) {
    return core::unsupported(
               fmt::format("costs of '{}', of which this program does not know how it "
                           "runs launches",
                           key),
               "known are NVIDIA's A100 80GB, H100 80GB HBM3 and H200, in a build "
               "with CUDA")
        .at(file);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(recorded.backend, cpu::make_cpu_backend({.threads = request.threads}));
  return model_of(std::move(recorded), request, key, {});
}

}  // namespace

core::Result<std::shared_ptr<cost::CostModel>> open_target(const std::string& target,
                                                           const DeviceRequest& request) {
  if (auto device = absent_device(target)) return open_named(target, *std::move(device), request);
  if (std::filesystem::exists(target)) return open_file(target, request);
  const auto names = absent_device_names();
  return usage_error(
      fmt::format("there is no target '{}', and no such file", target),
      names.empty()
          ? "this program was built without CUDA and knows no GPU; a file of costs of a CPU "
            "will do"
          : fmt::format("{}, or a file that measure-costs wrote", fmt::join(names, ", ")));
}

}  // namespace soapstone::jobs
