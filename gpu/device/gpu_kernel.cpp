// See gpu_kernel.h.
#include "gpu/device/gpu_kernel.h"

#include <algorithm>

namespace soapstone::gpu {

core::Result<std::unique_ptr<GpuKernel>>
GpuKernel::load(DevicePtr device, const std::vector<std::byte>& binary,
                std::vector<KernelVariant> variants, std::vector<KernelArgument> arguments,
                std::vector<runtime::DeviceBlock> constants) {
  std::unique_ptr<GpuKernel> kernel(new GpuKernel());
  kernel->device_ = std::move(device);
  kernel->variants_ = std::move(variants);
  kernel->arguments_ = std::move(arguments);
  kernel->constants_ = std::move(constants);
  SOAPSTONE_ASSIGN_OR_RETURN(const Driver* d, kernel->device_->use());
  SOAPSTONE_RETURN_IF_ERROR(
      checked(*d, d->load_module(&kernel->module_, binary.data()), "cuModuleLoadData"));
  for (const KernelVariant& variant : kernel->variants_) {
    kernel->functions_.push_back(nullptr);
    SOAPSTONE_RETURN_IF_ERROR(checked(
        *d,
        d->find_function(&kernel->functions_.back(), kernel->module_, variant.text.name.c_str()),
        "cuModuleGetFunction"));
  }
  return kernel;
}

GpuKernel::~GpuKernel() {
  if (module_) device_->release().unload_module(module_);
}

core::Status GpuKernel::launch(const Driver& driver, DriverHandle stream,
                               const runtime::KernelCall& call) {
  std::vector<DriverAddress> addresses;
  for (const KernelArgument& argument : arguments_)
    addresses.push_back(
        (argument.kind == KernelArgument::Kind::kInput    ? call.inputs[argument.number]
         : argument.kind == KernelArgument::Kind::kOutput ? call.outputs[argument.number]
                                                          : constants_[argument.number].address())
            .value());
  const auto admits = [&](const KernelVariant& variant) {
    return std::all_of(addresses.begin(), addresses.end(),
                       [&](DriverAddress a) { return a % variant.alignment == 0; });
  };
  const auto found = std::find_if(variants_.begin(), variants_.end() - 1, admits);
  const KernelText& text = found->text;
  if (text.blocks == 0) return core::Done{};
  std::vector<void*> parameters;
  for (DriverAddress& address : addresses) parameters.push_back(&address);
  return checked(driver,
                 driver.launch(functions_[static_cast<std::size_t>(found - variants_.begin())],
                               static_cast<unsigned>(text.blocks), 1, 1,
                               static_cast<unsigned>(text.threads), 1, 1, 0, stream,
                               parameters.data(), nullptr),
                 "cuLaunchKernel");
}

}  // namespace soapstone::gpu
