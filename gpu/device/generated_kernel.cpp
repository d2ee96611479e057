// See generated_kernel.h.
#include "gpu/device/generated_kernel.h"

#include <algorithm>

namespace soapstone::gpu {

core::Result<std::unique_ptr<GpuKernel>> GeneratedKernel::load(DevicePtr device,
                                                               const std::vector<std::byte>& binary,
                                                               std::vector<KernelVariant> variants,
                                                               KernelArguments arguments,
                                                               std::string name) {
  std::unique_ptr<GeneratedKernel> kernel(new GeneratedKernel());
  kernel->device_ = std::move(device);
  kernel->variants_ = std::move(variants);
  kernel->arguments_ = std::move(arguments);
  kernel->name_ = std::move(name);
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
  return std::unique_ptr<GpuKernel>(std::move(kernel));
}

GeneratedKernel::~GeneratedKernel() {
  if (module_) device_->release().unload_module(module_);
}

core::Status GeneratedKernel::launch(const Driver& driver, DriverHandle stream,
                                     const runtime::KernelCall& call) {
  std::vector<DriverAddress> addresses;
  for (std::size_t k = 0; k < arguments_.list.size(); ++k)
    addresses.push_back(arguments_.address(k, call));
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
