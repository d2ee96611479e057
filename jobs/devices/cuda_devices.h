// NVIDIA's devices, here or not, as far as this build knows them: only cuda_devices.cpp asks
// whether there is gpu/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "cost/models/measured_cost.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

/// `rounds`: factors of products of f32 may be rounded to tf32. Errors: kUnavailable, "no CUDA
/// device: …".
core::Result<std::unique_ptr<runtime::Backend>> make_cuda_backend(int ordinal, bool rounds);

/// A device that need not be here.
struct AbsentDevice {
  std::string name;                           ///< "NVIDIA H200"
  std::unique_ptr<runtime::Backend> backend;  ///< Plans launches, compiles none.
  cost::DeviceEstimates estimates;
};
/// "h200"; none in a build without gpu/.
std::vector<std::string> absent_device_names();
/// None: there is none of that name.
std::optional<AbsentDevice> absent_device(std::string_view name);
/// Whether costs are kept under that key for some device of NVIDIA's.
bool is_gpu_key(std::string_view cost_key);
/// The name of the device whose costs are kept under that key; empty: none of those.
std::string absent_device_of_key(std::string_view cost_key);

}  // namespace soapstone::jobs
