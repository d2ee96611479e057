// See gpu_backend.h.
#include "gpu/gpu_backend.h"

#include <charconv>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "gpu/kernels/cover.h"
#include "gpu/kernels/library_fusion.h"
#include "gpu/making/attention_fit.h"
#include "gpu/making/layout_choice.h"
#include "gpu/making/layouts.h"
#include "gpu/making/makers.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::gpu {
namespace {

using core::TensorId;
using runtime::Launch;

runtime::DeviceInfo describe(const DeviceFacts& facts, const Libraries& libraries,
                             const GpuOptions& options) {
  runtime::DeviceInfo info;
  info.name = fmt::format("{} (sm_{}{})", facts.name, facts.major, facts.minor);
  info.libraries = fmt::format("CUDA driver {}.{}", facts.driver_version / 1000,
                               facts.driver_version % 1000 / 10);
  if (libraries.cudnn) info.libraries += fmt::format(", cuDNN {}", libraries.cudnn->version());
  if (libraries.cublaslt)
    info.libraries += fmt::format(", cuBLASLt {}", libraries.cublaslt->version());
  if (options.math == FloatMath::kTensorFloat32) info.libraries += ", tf32";
  return info;
}

class GpuBackend final : public runtime::Backend {
 public:
  GpuBackend(DevicePtr device, KernelCompiler compiler, Libraries libraries,
             const GpuOptions& options)
      : device_(std::move(device)), info_(describe(device_->facts(), libraries, options)),
        memory_(device_), context_{device_, memory_, std::move(compiler),
                                   std::make_shared<LibraryHandles>(device_, std::move(libraries)),
                                   options},
        attends_(attention_of_cudnn(context_)) {}

  const runtime::DeviceInfo& device() const override { return info_; }
  runtime::DeviceMemory& memory() override { return memory_; }
  core::Result<std::unique_ptr<runtime::Queue>> make_queue() override {
    return GpuQueue::make(device_);
  }
  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return library_fusion(fusion);
  }

  std::optional<std::vector<Launch>> cover(const core::Graph& graph,
                                           runtime::Fusion fusion) const override {
    return gpu::cover(graph, fusion, attends_);
  }

  void choose_layouts(const core::Graph& graph, const Launch& launch,
                      std::span<const runtime::Layout> stored,
                      runtime::LaunchLayouts& wanted) const override {
    gpu::choose_layouts(graph, launch, stored, context_.options.images, wanted);
  }

  std::vector<runtime::LaunchLayouts> layout_ways(const core::Graph& graph,
                                                  const Launch& launch) const override {
    if (context_.options.images != ImageLayout::kByCost) return {};
    return gpu::layout_ways(graph, launch);
  }
  void note_cost(const std::string& signature, double cost_us) override {
    costs_.note(signature, cost_us);
  }
  std::vector<runtime::LaunchLayouts> arrange(const core::Graph& graph,
                                              std::span<const Launch> launches) const override {
    if (context_.options.images != ImageLayout::kByCost) return {};
    return arrange_by_cost(graph, launches, costs_);
  }

  core::Result<std::unique_ptr<runtime::Kernel>>
  compile(const core::Graph& graph, const Launch& launch, const runtime::LaunchLayouts& layouts,
          const runtime::ConstantValue& constants, std::vector<std::string>* why_not) override {
    std::string choice;
    if (!choices_.empty()) {
      const auto found = choices_.find(runtime::launch_signature(graph, launch, layouts));
      if (found != choices_.end()) choice = found->second;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(
        auto kernel,
        make_kernel(context_, request_of(graph, launch, layouts, constants), choice, why_not));
    return std::unique_ptr<runtime::Kernel>(std::move(kernel));
  }

  std::vector<std::string> candidates(const core::Graph& graph, const Launch& launch,
                                      const runtime::LaunchLayouts& layouts) override {
    const runtime::ConstantValue none = [](TensorId) { return core::LiteralPtr(); };
    return kernel_candidates(context_, request_of(graph, launch, layouts, none));
  }

  void choose(const std::string& signature, const std::string& candidate) override {
    choices_[signature] = candidate;
  }

  core::Result<std::unique_ptr<runtime::Kernel>> compile_conversion(const core::TensorType& type,
                                                                    runtime::Layout from,
                                                                    runtime::Layout to) override {
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel, make_conversion(context_, type, from, to));
    return std::unique_ptr<runtime::Kernel>(std::move(kernel));
  }

 private:
  DevicePtr device_;
  runtime::DeviceInfo info_;
  GpuMemory memory_;
  MakerContext context_;
  LaunchFit attends_;
  LayoutCosts costs_;
  std::map<std::string, std::string> choices_;  // candidates by signature
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
                                                                 KernelCompiler compiler,
                                                                 Libraries libraries,
                                                                 const GpuOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(DeviceFacts facts, find_device(driver, ordinal));
  SOAPSTONE_ASSIGN_OR_RETURN(DevicePtr device, Device::open(std::move(driver), std::move(facts)));
  return std::unique_ptr<runtime::Backend>(std::make_unique<GpuBackend>(
      std::move(device), std::move(compiler), std::move(libraries), options));
}

core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(int ordinal,
                                                                 const GpuOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(Driver driver, load_driver());
  SOAPSTONE_ASSIGN_OR_RETURN(const DeviceFacts facts, find_device(driver, ordinal));
  const CompileTarget target{facts.major, facts.minor};
  const auto cache = std::make_shared<KernelCache>(default_kernel_cache());
  const auto compile =
      [=](std::span<const KernelText> texts) -> core::Result<std::vector<std::byte>> {
    SOAPSTONE_ASSIGN_OR_RETURN(KernelBinary binary, cache->get(texts, target));
    return std::move(binary.cubin);
  };
  return make_gpu_backend(std::move(driver), ordinal, compile, load_libraries(), options);
}

core::Result<std::unique_ptr<runtime::Backend>> make_gpu_backend(std::string_view name,
                                                                 const GpuOptions& options) {
  constexpr std::string_view kCuda = "cuda";
  int ordinal = 0;
  std::string_view rest = name;
  bool is_named = rest.starts_with(kCuda);
  if (is_named) rest.remove_prefix(kCuda.size());
  if (is_named && !rest.empty()) {
    const auto read = std::from_chars(rest.data() + 1, rest.data() + rest.size(), ordinal);
    is_named = rest[0] == ':' && rest.size() > 1 && read.ec == std::errc() &&
               read.ptr == rest.data() + rest.size() && ordinal >= 0;
  }
  if (!is_named)
    return core::invalid_input(fmt::format("no device is called `{}`", name),
                               "give `cuda` or `cuda:N`, the number of a GPU");
  return make_gpu_backend(ordinal, options);
}

}  // namespace soapstone::gpu
