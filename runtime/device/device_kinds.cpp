// See device_kinds.h. Rates are peaks from data sheets.
#include "runtime/device/device_kinds.h"

#include <algorithm>
#include <array>

namespace soapstone::runtime {
namespace {

using core::DataType;

constexpr double kGiB = 1 << 30;
constexpr double kGB = 1e9;
constexpr double kTera = 1e12;

/// NVIDIA, "Tesla K80" board specification BD-07317-001: half of a board. No tensor cores, f16 is
/// computed as f32.
DeviceKind k80() {
  return {"k80",
          "k80",
          12 * kGiB,
          240 * kGB,
          {{DataType::kFloat32, 4.37 * kTera}, {DataType::kFloat64, 1.45 * kTera}}};
}

/// NVIDIA, "Tesla P100" data sheet, SXM2.
DeviceKind p100() {
  return {"p100",
          "p100",
          16 * kGiB,
          732 * kGB,
          {{DataType::kFloat32, 10.6 * kTera},
           {DataType::kFloat64, 5.3 * kTera},
           {DataType::kFloat16, 21.2 * kTera}}};
}

/// NVIDIA, "V100" data sheet, SXM2 with 32 GB; f16 on tensor cores.
DeviceKind v100() {
  return {"v100",
          "v100",
          32 * kGiB,
          900 * kGB,
          {{DataType::kFloat32, 15.7 * kTera},
           {DataType::kFloat64, 7.8 * kTera},
           {DataType::kFloat16, 125 * kTera}}};
}

/// NVIDIA, "A100 80GB" data sheet, SXM; without sparsity, f32 without TF32.
DeviceKind a100() {
  return {"a100",
          "a100",
          80 * kGiB,
          2039 * kGB,
          {{DataType::kFloat32, 19.5 * kTera},
           {DataType::kFloat64, 9.7 * kTera},
           {DataType::kFloat16, 312 * kTera},
           {DataType::kBFloat16, 312 * kTera},
           {DataType::kInt8, 624 * kTera}}};
}

/// NVIDIA, "H100" data sheet, SXM; without sparsity.
DeviceKind h100() {
  return {"h100",
          "h100",
          80 * kGiB,
          3350 * kGB,
          {{DataType::kFloat32, 67 * kTera},
           {DataType::kFloat64, 34 * kTera},
           {DataType::kFloat16, 989 * kTera},
           {DataType::kBFloat16, 989 * kTera},
           {DataType::kInt8, 1979 * kTera}}};
}

/// NVIDIA, "H200" data sheet: an H100 with more and faster memory.
DeviceKind h200() {
  DeviceKind kind = h100();
  kind.name = kind.cost_key = "h200";
  kind.memory_bytes = 141 * kGB;
  kind.memory_bytes_per_s = 4800 * kGB;
  return kind;
}

/// Boards of four chips, as in L. Song et al., "AccPar" (HPCA 2020); rates of Google's documents.
DeviceKind tpu(const std::string& name, double tera_flops, double memory_gib,
               double memory_gb_per_s) {
  return {name,
          name,
          memory_gib * kGiB,
          memory_gb_per_s * kGB,
          {{DataType::kFloat32, tera_flops * kTera}, {DataType::kBFloat16, tera_flops * kTera}}};
}

}  // namespace

std::span<const DeviceKind> known_device_kinds() {
  static const std::array kKnown = {k80(),
                                    p100(),
                                    v100(),
                                    a100(),
                                    h100(),
                                    h200(),
                                    tpu("tpu-v2", 180, 64, 2400),
                                    tpu("tpu-v3", 420, 128, 3600)};
  return kKnown;
}

const DeviceKind* find_device_kind(std::string_view name) {
  const auto known = known_device_kinds();
  const auto found = std::ranges::find(known, name, &DeviceKind::name);
  return found == known.end() ? nullptr : &*found;
}

}  // namespace soapstone::runtime
