// Generated kernels; see makers.h.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "gpu/device/generated_kernel.h"
#include "gpu/device/kernel_pair.h"
#include "gpu/making/long_rows.h"
#include "gpu/making/makers.h"
#include "runtime/generated/region_layouts.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;
using runtime::generated::RegionTensor;
using runtime::generated::RowValues;

core::Result<Region> region_for(const KernelRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(Region region,
                             make_region(request.graph, request.nodes, request.outputs));
  for (const auto& [id, layout] : request.layouts)
    arrange(region, id, runtime::dims_of(request.graph.tensor(id).type), layout);
  return region;
}

/// The text with loads of several elements, if it has any, and one without.
std::vector<KernelVariant> variants_of(const Region& region, const KernelOptions& options) {
  const KernelPlan wide = plan_for_gpu(region, options);
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
  const std::string tile = options.tile == 0   ? ""
                           : options.tile == 1 ? " without tiles"
                                               : fmt::format(" in tiles of {}", options.tile);
  const char* const values = options.values == RowValues::kHeld        ? " in registers"
                             : options.values == RowValues::kReadAgain ? " read again"
                                                                       : "";
  if (options.threads == 0 && options.lanes == 0 && options.width == 0)
    return fmt::format("generated{}{}", tile, values);
  return fmt::format("generated {}/{}/{}{}{}", options.threads, options.lanes, options.width, tile,
                     values);
}

namespace {

/// As many rows side by side, and as many elements of one in each thread, as may be fast.
std::vector<KernelOptions> options_for_rows(const KernelPlan& plan) {
  constexpr int kFewestThreads = 128;
  constexpr std::int64_t kFewestElements = 2, kMostElements = 128;  // of a row, in a lane
  std::vector<KernelOptions> tried = {{}, {.values = RowValues::kReadAgain}};
  for (const int lanes : {1, 8, 32, 128, 256, 512, 1024}) {
    const bool is_fit =
        plan.row_length >= kFewestElements * lanes && plan.row_length <= kMostElements * lanes;
    if (lanes != plan.lanes && !is_fit) continue;
    for (const RowValues values : {RowValues::kHeld, RowValues::kReadAgain})
      tried.push_back(
          {.threads = std::max(lanes, kFewestThreads), .lanes = lanes, .values = values});
  }
  if (plan.lanes <= 32) tried.push_back({.threads = 512, .lanes = plan.lanes});
  for (std::int64_t width = plan.width / 2; width > 0; width /= 2)
    tried.push_back({.threads = plan.threads, .lanes = plan.lanes, .width = width});
  return tried;
}

std::vector<KernelOptions> options_for(const Region& region) {
  const KernelPlan plan = plan_for_gpu(region);
  if (plan.row_count > 0) return options_for_rows(plan);
  return {{},          {.threads = 128}, {.threads = 512}, {.threads = 256, .width = 1},
          {.tile = 1}, {.tile = 16},     {.tile = 64}};
}

}  // namespace

std::vector<KernelOptions> generated_options(const KernelRequest& request) {
  const auto region = region_for(request);
  return region ? generated_options(*region) : std::vector{KernelOptions{}};
}

std::vector<KernelOptions> generated_options(const Region& region) {
  std::vector<KernelOptions> different;
  std::vector<std::string> texts;
  for (const KernelOptions& options : options_for(region)) {
    const KernelPlan plan = plan_for_gpu(region, options);
    const KernelText text = kernel_text(region, plan, "tried");
    const std::string key = fmt::format("{}\n{}", text.threads, text.source);
    if (std::ranges::find(texts, key) != texts.end()) continue;
    texts.push_back(key);
    different.push_back(options);
  }
  return different;
}

namespace {

using MadeKernel = core::Result<std::unique_ptr<GpuKernel>>;

MadeKernel load_variants(const MakerContext& context, std::vector<KernelVariant> variants,
                         KernelArguments arguments, std::string name) {
  std::vector<KernelText> texts;
  for (const KernelVariant& variant : variants) texts.push_back(variant.text);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::byte> binary, context.compiler(texts));
  return GeneratedKernel::load(context.device, binary, std::move(variants), std::move(arguments),
                               std::move(name));
}

MadeKernel make_of_region(const MakerContext& context, const KernelRequest& request,
                          const Region& region, const KernelOptions& options, std::string name) {
  std::vector<KernelVariant> variants = variants_of(region, options);
  SOAPSTONE_ASSIGN_OR_RETURN(KernelArguments arguments,
                             arguments_for(context, request, variants[0].text.arguments));
  return load_variants(context, std::move(variants), std::move(arguments), std::move(name));
}

/// A tensor that is none of the graph, nor of those that passes made before.
core::TensorId new_tensor(const KernelRequest& request) {
  std::size_t next = request.graph.tensor_bound();
  for (const core::TensorId input : request.inputs) next = std::max(next, input.index() + 1);
  return core::TensorId(next);
}

std::optional<DividedRegion> divided_rows(const KernelRequest& request, const Region& region) {
  const core::TensorId parts = new_tensor(request);
  return divide_long_rows(region, parts, core::TensorId(parts.index() + 1));
}

/// Two kernels, of which the second reads the first one's result, `between`, besides the inputs.
MadeKernel make_after(const KernelRequest& request, core::TensorId between, std::size_t bytes,
                      std::unique_ptr<GpuKernel> first,
                      const std::function<MadeKernel(const KernelRequest&)>& make_second) {
  KernelRequest second = request;
  second.inputs.push_back(between);
  SOAPSTONE_ASSIGN_OR_RETURN(auto behind, make_second(second));
  std::vector<std::optional<std::size_t>> inputs(request.inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) inputs[k] = k;
  auto with_result = inputs;
  with_result.emplace_back();
  return make_pair_of_kernels({std::move(first), std::move(inputs)},
                              {std::move(behind), std::move(with_result)}, bytes,
                              std::string(kInPasses));
}

/// One long sum after the other: its parts, then itself; the last kernel does the rest.
MadeKernel make_passes(const MakerContext& context, const KernelRequest& request,
                       const Region& region) {
  const auto make = [&](const KernelRequest& of, const Region& part) {
    return make_of_region(context, of, part, {}, name_of({}));
  };
  const auto divided = divided_rows(request, region);
  if (!divided) return make(request, region);
  const core::TensorId parts_id = new_tensor(request), joined_id(parts_id.index() + 1);
  KernelRequest storing = request;
  storing.outputs = {parts_id};
  SOAPSTONE_ASSIGN_OR_RETURN(auto parts, make(storing, divided->parts));
  return make_after(request, parts_id, divided->parts_bytes, std::move(parts),
                    [&](const KernelRequest& behind) -> MadeKernel {
                      if (!divided->rest) return make(behind, divided->joined);
                      KernelRequest joining = behind;
                      joining.outputs = {joined_id};
                      SOAPSTONE_ASSIGN_OR_RETURN(auto joined, make(joining, divided->joined));
                      return make_after(behind, joined_id, divided->joined_bytes, std::move(joined),
                                        [&](const KernelRequest& last) {
                                          return make_passes(context, last, *divided->rest);
                                        });
                    });
}

}  // namespace

bool has_long_rows(const KernelRequest& request) {
  const auto region = region_for(request);
  return region && divided_rows(request, *region);
}

core::Result<std::unique_ptr<GpuKernel>> make_in_passes(const MakerContext& context,
                                                        const KernelRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region, region_for(request));
  if (!divided_rows(request, region)) return core::unsupported("no long rows");
  // Nobody else knows the tensors between passes.
  const runtime::ConstantValue constants = [&](core::TensorId tensor) {
    return tensor.index() < request.graph.tensor_bound() ? request.constants(tensor)
                                                         : core::LiteralPtr();
  };
  const KernelRequest known{request.graph,   request.nodes,   request.inputs,
                            request.outputs, request.layouts, constants};
  return make_passes(context, known, region);
}

core::Result<std::unique_ptr<GpuKernel>> make_generated(const MakerContext& context,
                                                        const KernelRequest& request,
                                                        const KernelOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region, region_for(request));
  return make_of_region(context, request, region, options, name_of(options));
}

core::Result<std::unique_ptr<GpuKernel>> make_conversion(const MakerContext& context,
                                                         const core::TensorType& type,
                                                         runtime::Layout from, runtime::Layout to) {
  const core::TensorId input(0), output(1);
  std::vector<KernelVariant> variants =
      variants_of(runtime::generated::conversion_region(type, input, from, output, to), {});
  KernelArguments arguments;
  for (const core::TensorId id : variants[0].text.arguments)
    arguments.list.push_back(
        {id == input ? KernelArgument::Kind::kInput : KernelArgument::Kind::kOutput, 0});
  return load_variants(context, std::move(variants), std::move(arguments), name_of({}));
}

}  // namespace soapstone::gpu
