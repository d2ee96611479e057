// See gpu_backend.h.
#include "gpu/gpu_backend.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "gpu/compile/nvrtc.h"
#include "gpu/device/device.h"
#include "gpu/device/gpu_kernel.h"
#include "gpu/text/kernel_plan.h"

namespace soapstone::gpu {
namespace {

using core::TensorId;
using runtime::DeviceBlock;
using runtime::Launch;

/// The text with loads of several elements, if it has any, and one without.
std::vector<KernelVariant> variants_of(const Region& region) {
  const auto planned = plan_kernel(region);
  const KernelPlan wide = planned ? *planned : plan_map(region);
  std::size_t bytes = 1;
  for (const RegionTensor& tensor : region.tensors)
    if (tensor.id.valid()) bytes = std::max(bytes, core::size_bytes(tensor.data_type));
  std::vector<KernelVariant> variants;
  if (wide.width > 1)
    variants.push_back(
        {kernel_text(region, wide, "wide"), bytes * static_cast<std::size_t>(wide.width)});
  KernelPlan narrow = wide;
  narrow.width = 1;
  variants.push_back({kernel_text(region, narrow, "narrow"), 1});
  return variants;
}

class GpuBackend final : public runtime::Backend {
 public:
  GpuBackend(DevicePtr device, KernelCompiler compiler)
      : device_(std::move(device)), compiler_(std::move(compiler)), memory_(device_) {
    const DeviceFacts& facts = device_->facts();
    info_.name = fmt::format("{} (sm_{}{})", facts.name, facts.major, facts.minor);
    info_.libraries = fmt::format("CUDA driver {}.{}", facts.driver_version / 1000,
                                  facts.driver_version % 1000 / 10);
  }

  const runtime::DeviceInfo& device() const override { return info_; }
  runtime::DeviceMemory& memory() override { return memory_; }
  core::Result<std::unique_ptr<runtime::Queue>> make_queue() override {
    return GpuQueue::make(device_);
  }
  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return runtime::generic_fusion(fusion);
  }

  core::Result<std::unique_ptr<runtime::Kernel>>
  compile(const core::Graph& graph, const Launch& launch, const runtime::LaunchLayouts&,
          const runtime::ConstantValue& constants, std::vector<std::string>*) override {
    SOAPSTONE_ASSIGN_OR_RETURN(const Region region,
                               make_region(graph, launch.nodes(), launch.outputs));
    std::vector<KernelVariant> variants = variants_of(region);
    std::vector<KernelArgument> arguments;
    std::vector<DeviceBlock> blocks;
    for (const TensorId id : variants[0].text.arguments) {
      const auto input = std::find(launch.inputs.begin(), launch.inputs.end(), id);
      const auto output = std::find(launch.outputs.begin(), launch.outputs.end(), id);
      if (output != launch.outputs.end()) {
        arguments.push_back({KernelArgument::Kind::kOutput, position(launch.outputs, output)});
      } else if (const core::LiteralPtr value = constants(id)) {
        arguments.push_back({KernelArgument::Kind::kConstant, blocks.size()});
        SOAPSTONE_ASSIGN_OR_RETURN(DeviceBlock block, memory_.share(value->bytes()));
        blocks.push_back(std::move(block));
      } else {
        arguments.push_back({KernelArgument::Kind::kInput, position(launch.inputs, input)});
      }
    }
    std::vector<KernelText> texts;
    for (const KernelVariant& variant : variants) texts.push_back(variant.text);
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::byte> binary, compiler_(texts));
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel,
                               GpuKernel::load(device_, binary, std::move(variants),
                                               std::move(arguments), std::move(blocks)));
    return std::unique_ptr<runtime::Kernel>(std::move(kernel));
  }

  /// All layouts are row-major, so that nobody asks for one.
  core::Result<std::unique_ptr<runtime::Kernel>>
  compile_conversion(const core::TensorType&, runtime::Layout, runtime::Layout) override {
    return core::unsupported("generated kernels have row-major tensors only");
  }

 private:
  static std::size_t position(const std::vector<TensorId>& list,
                              std::vector<TensorId>::const_iterator at) {
    return static_cast<std::size_t>(at - list.begin());
  }

  DevicePtr device_;
  KernelCompiler compiler_;
  GpuMemory memory_;
  runtime::DeviceInfo info_;
};

}  // namespace

std::filesystem::path default_kernel_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::filesystem::path(cache) / "soapstone" / "kernels";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "soapstone" / "kernels";
  return std::filesystem::temp_directory_path() / "soapstone-kernels";
}

core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(Driver driver, int ordinal,
                                                                 KernelCompiler compiler) {
  SOAPSTONE_ASSIGN_OR_RETURN(DeviceFacts facts, find_device(driver, ordinal));
  SOAPSTONE_ASSIGN_OR_RETURN(DevicePtr device, Device::open(std::move(driver), std::move(facts)));
  return std::unique_ptr<runtime::Backend>(
      std::make_unique<GpuBackend>(std::move(device), std::move(compiler)));
}

core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(int ordinal) {
  SOAPSTONE_ASSIGN_OR_RETURN(Driver driver, load_driver());
  SOAPSTONE_ASSIGN_OR_RETURN(const DeviceFacts facts, find_device(driver, ordinal));
  const CompileTarget target{facts.major, facts.minor};
  const auto cache = std::make_shared<KernelCache>(default_kernel_cache());
  const auto compile =
      [=](std::span<const KernelText> texts) -> core::Result<std::vector<std::byte>> {
    SOAPSTONE_ASSIGN_OR_RETURN(KernelBinary binary, cache->get(texts, target));
    return std::move(binary.cubin);
  };
  return make_gpu_backend(std::move(driver), ordinal, compile);
}

}  // namespace soapstone::gpu
