// The device on which a job runs kernels, and the costs by which it compares graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "cost/database/cost_database.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

enum class DeviceKind : std::uint8_t {
  kCpu,
  kReference,  ///< Slow and exact.
  kCuda,
};

/// To what convolutions and products may round what they multiply.
enum class Precision : std::uint8_t {
  kFloat32,
  kTensorFloat32,  ///< f32 with 10 bits behind the point: what tensor cores of GPUs read.
  kBFloat16,       ///< Of kCpu; on a GPU it is the type of a model.
  kInt8,           ///< Of kCpu: integers with scales.
};
/// `f32`, `tf32`, `bf16`, `int8`.
std::string_view to_string(Precision precision);

struct DeviceRequest {
  DeviceKind device = DeviceKind::kCpu;
  int ordinal = 0;  ///< Which one of several, of kCuda.
  int threads = 1;  ///< Most threads that one kernel may use.
  runtime::Fusion fusion = runtime::Fusion::kFull;
  /// Path of the database of measured costs; empty: the user's own; `none`: nothing is kept.
  std::string costs;
  /// Used where that is measured to be faster.
  Precision precision = Precision::kFloat32;

  bool rounds() const { return precision != Precision::kFloat32; }
};

/// Takes "cpu", "reference", "cuda" or "cuda:1". Errors: kUsage.
core::Status take_device(std::string_view name, DeviceRequest& request);
/// Errors: kUnavailable; kUsage for a precision that the device does not have.
core::Result<std::unique_ptr<runtime::Backend>> make_backend(const DeviceRequest& request);
/// The same without rounding. Errors: as make_backend().
core::Result<std::unique_ptr<runtime::Backend>> make_exact_backend(DeviceRequest request);
/// Null for `none`. Errors: kUnavailable.
core::Result<std::unique_ptr<cost::CostDatabase>> open_costs(const DeviceRequest& request);

}  // namespace soapstone::jobs
