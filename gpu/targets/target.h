// GPUs that need not be here: what compilers, occupancy and estimates have to know of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gpu/compile/nvrtc.h"
#include "runtime/device/device_kinds.h"
#include "runtime/launches/backend.h"

namespace soapstone::gpu {

/// Limits of a multiprocessor are those of CUDA's programming guide for its computing capability.
struct Target {
  std::string name;         ///< Of its runtime::DeviceKind: "h200".
  std::string device_name;  ///< As the driver says it: "NVIDIA H200".
  CompileTarget compute;
  int multiprocessors = 0;
  int registers = 65536;  ///< Of a multiprocessor, as are the next four.
  int threads = 2048;
  int blocks = 32;
  int shared_bytes = 0;
  int reserved_shared_bytes = 1024;  ///< Of each block.
  int clock_khz = 0;
  int memory_clock_khz = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double launch_us = 0;   ///< From one kernel of a captured graph to the next.
  double latency_us = 0;  ///< Of a read that misses all caches.

  const runtime::DeviceKind& kind() const;
};

/// a100, h100, h200.
std::span<const Target> known_targets();
/// Null: there is none of that name.
const Target* find_target(std::string_view name);
/// The one whose costs a database keeps under that key; null: none of those that are known.
const Target* target_of_key(std::string_view cost_key);

/// The card as cuDNN asks for it: JSON with the keys of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
std::string cudnn_properties(const Target& target);

/// Plans launches as the device would run them, but compiles none: kUnavailable.
std::unique_ptr<runtime::Backend> make_absent_backend(const Target& target);

}  // namespace soapstone::gpu
