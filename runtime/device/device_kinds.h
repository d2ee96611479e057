// Kinds of devices, as plans and estimates know those that need not be here.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/tensor_type.h"

namespace soapstone::runtime {

struct DeviceKind {
  std::string name;
  std::string cost_key;  ///< Names the device in the cost database.
  double memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::map<core::DataType, double> flops_per_s;  ///< The most that it does; f32 without TF32.
  /// How many times as long kernels take while all devices of the machine compute, beside one that
  /// computes alone, as costs are measured. The rates above are those while all compute.
  double contraction_slowdown = 1, other_slowdown = 1;
};

/// k80, p100, v100, a100, h100, h200, tpu-v2, tpu-v3, by their data sheets.
std::span<const DeviceKind> known_device_kinds();
/// Null: there is none of that name.
const DeviceKind* find_device_kind(std::string_view name);

}  // namespace soapstone::runtime
