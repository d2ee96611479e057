// Generated kernels; see makers.h.
#include <algorithm>

#include <fmt/format.h>

#include "gpu/device/generated_kernel.h"
#include "gpu/making/makers.h"
#include "runtime/generated/region_layouts.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;
using runtime::generated::RegionTensor;

core::Result<Region> region_for(const KernelRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(Region region,
                             make_region(request.graph, request.nodes, request.outputs));
  for (const auto& [id, layout] : request.layouts)
    arrange(region, id, runtime::dims_of(request.graph.tensor(id).type), layout);
  return region;
}

KernelPlan plan_for(const Region& region, const KernelOptions& options) {
  const auto planned = plan_kernel(region, options);
  return planned ? *planned : plan_map(region, options);
}

/// The text with loads of several elements, if it has any, and one without.
std::vector<KernelVariant> variants_of(const Region& region, const KernelOptions& options) {
  const KernelPlan wide = plan_for(region, options);
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

}  // namespace

std::string name_of(const KernelOptions& options) {
  if (options.threads == 0 && options.lanes == 0 && options.width == 0) return "generated";
  return fmt::format("generated {}/{}/{}", options.threads, options.lanes, options.width);
}

std::vector<KernelOptions> generated_options(const KernelRequest& request) {
  constexpr KernelOptions kTried[] = {{},
                                      {.threads = 128},
                                      {.threads = 512},
                                      {.threads = 128, .lanes = 32},
                                      {.threads = 256, .lanes = 256},
                                      {.threads = 256, .width = 1}};
  std::vector<KernelOptions> different;
  std::vector<std::string> texts;
  const auto region = region_for(request);
  if (!region) return {KernelOptions{}};
  for (const KernelOptions& options : kTried) {
    const KernelPlan plan = plan_for(*region, options);
    const KernelText text = kernel_text(*region, plan, "tried");
    const std::string key = fmt::format("{}\n{}", text.threads, text.source);
    if (std::ranges::find(texts, key) != texts.end()) continue;
    texts.push_back(key);
    different.push_back(options);
  }
  return different;
}

core::Result<std::unique_ptr<GpuKernel>> make_generated(const MakerContext& context,
                                                        const KernelRequest& request,
                                                        const KernelOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region, region_for(request));
  std::vector<KernelVariant> variants = variants_of(region, options);
  SOAPSTONE_ASSIGN_OR_RETURN(KernelArguments arguments,
                             arguments_for(context, request, variants[0].text.arguments));
  std::vector<KernelText> texts;
  for (const KernelVariant& variant : variants) texts.push_back(variant.text);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::byte> binary, context.compiler(texts));
  return GeneratedKernel::load(context.device, binary, std::move(variants), std::move(arguments),
                               name_of(options));
}

}  // namespace soapstone::gpu
