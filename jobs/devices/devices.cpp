// See devices.h.
#include "jobs/devices/devices.h"

#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "cpu/cpu_backend.h"
#include "jobs/base/usage_error.h"
#include "jobs/devices/cuda_devices.h"

namespace soapstone::jobs {
namespace {

bool has_precision(DeviceKind device, Precision precision) {
  switch (precision) {
  case Precision::kTensorFloat32:
    return device == DeviceKind::kCuda;
  case Precision::kBFloat16:
  case Precision::kInt8:
    return device == DeviceKind::kCpu;
  default:
    return true;
  }
}

/// Precondition: a CPU has it.
core::DataType type_of(Precision precision) {
  switch (precision) {
  case Precision::kBFloat16:
    return core::DataType::kBFloat16;
  case Precision::kInt8:
    return core::DataType::kInt8;
  default:
    return core::DataType::kFloat32;
  }
}

}  // namespace

std::string_view to_string(Precision precision) {
  switch (precision) {
  case Precision::kTensorFloat32:
    return "tf32";
  case Precision::kBFloat16:
    return "bf16";
  case Precision::kInt8:
    return "int8";
  default:
    return "f32";
  }
}

core::Status take_device(std::string_view name, DeviceRequest& request) {
  constexpr std::string_view kCudaPrefix = "cuda:";
  request.ordinal = 0;
  if (name == "cpu") {
    request.device = DeviceKind::kCpu;
  } else if (name == "reference") {
    request.device = DeviceKind::kReference;
  } else if (name == "cuda") {
    request.device = DeviceKind::kCuda;
  } else {
    const std::string_view digits =
        name.starts_with(kCudaPrefix) ? name.substr(kCudaPrefix.size()) : std::string_view();
    const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), request.ordinal);
    if (problem != std::errc() || end != digits.end() || request.ordinal < 0)
      return usage_error(fmt::format("there is no device '{}'", name),
                         "cpu, reference (slow, exact), cuda, or one of several: cuda:1");
    request.device = DeviceKind::kCuda;
  }
  return core::Done{};
}

core::Result<std::unique_ptr<runtime::Backend>> make_backend(const DeviceRequest& request) {
  if (!has_precision(request.device, request.precision))
    return usage_error(
        fmt::format("{} is no precision of that device", to_string(request.precision)),
        "bf16 and int8 are of the CPU, tf32 is of GPUs; leave out the device, or the precision");
  if (request.device == DeviceKind::kCuda)
    return make_cuda_backend(request.ordinal, request.rounds());
  if (request.device == DeviceKind::kReference) return runtime::make_reference_backend();
  return cpu::make_cpu_backend(
      {.threads = request.threads, .precision = type_of(request.precision)});
}

core::Result<std::unique_ptr<runtime::Backend>> make_exact_backend(DeviceRequest request) {
  request.precision = Precision::kFloat32;
  return make_backend(request);
}

core::Result<std::unique_ptr<cost::CostDatabase>> open_costs(const DeviceRequest& request) {
  if (request.costs == "none") return std::unique_ptr<cost::CostDatabase>();
  return cost::CostDatabase::open(request.costs.empty() ? cost::CostDatabase::default_path()
                                                        : std::filesystem::path(request.costs));
}

}  // namespace soapstone::jobs
