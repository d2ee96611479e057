// See cuda_devices.h.
#include "jobs/devices/cuda_devices.h"

#ifdef SOAPSTONE_HAS_GPU
#include "cost/models/roofline.h"
#include "gpu/gpu_backend.h"
#include "gpu/targets/launch_estimate.h"
#include "gpu/targets/library_proposals.h"
#endif

namespace soapstone::jobs {

/// As gpu/ makes keys: "NVIDIA H200 (sm_90); …".
bool is_gpu_key(std::string_view cost_key) {
  return cost_key.find(" (sm_") != std::string_view::npos;
}

#ifdef SOAPSTONE_HAS_GPU

core::Result<std::unique_ptr<runtime::Backend>> make_cuda_backend(int ordinal, bool rounds) {
  return gpu::make_gpu_backend(
      ordinal, {.math = rounds ? gpu::FloatMath::kTensorFloat32 : gpu::FloatMath::kExact});
}

std::vector<std::string> absent_device_names() {
  std::vector<std::string> names;
  for (const gpu::Target& target : gpu::known_targets()) names.push_back(target.name);
  return names;
}

std::optional<AbsentDevice> absent_device(std::string_view name) {
  const gpu::Target* const target = gpu::find_target(name);
  if (!target) return std::nullopt;
  const auto estimator = std::make_shared<gpu::LaunchEstimator>(
      *target, gpu::default_kernel_cache(), gpu::cudnn_for_absent_cards());
  cost::DeviceEstimates estimates;
  estimates.launch_us = [estimator](const core::Graph& graph, const runtime::Launch& launch) {
    const cost::LaunchWork work = cost::launch_work(graph, launch);
    return estimator->launch_us(graph, launch, {work.flops, work.bytes});
  };
  estimates.copy_us = [estimator](double bytes) { return estimator->copy_us(bytes); };
  return AbsentDevice{target->device_name, gpu::make_absent_backend(*target), std::move(estimates)};
}

std::string absent_device_of_key(std::string_view cost_key) {
  const gpu::Target* const target = gpu::target_of_key(cost_key);
  return target ? target->name : std::string();
}

#else

core::Result<std::unique_ptr<runtime::Backend>> make_cuda_backend(int, bool) {
  return core::unavailable("no CUDA device: this program was built without CUDA",
                           "install the CUDA toolkit and build again with -DSOAPSTONE_CUDA=ON");
}

std::vector<std::string> absent_device_names() { return {}; }
std::optional<AbsentDevice> absent_device(std::string_view) { return std::nullopt; }
std::string absent_device_of_key(std::string_view) { return {}; }

#endif

}  // namespace soapstone::jobs
