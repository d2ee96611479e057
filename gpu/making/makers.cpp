// See makers.h.
#include "gpu/making/makers.h"

#include <algorithm>

#include <fmt/format.h>

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;
using runtime::generated::RegionStage;

constexpr std::string_view kCublasLt = "cuBLASLt ", kCudnn = "cuDNN ";
constexpr std::size_t kMostOfALibrary = 6;

/// The number behind the name of a library.
std::optional<std::size_t> number_behind(std::string_view library, const std::string& choice) {
  for (std::size_t k = 0; k < kMostOfALibrary; ++k)
    if (choice == fmt::format("{}{}", library, k)) return k;
  return std::nullopt;
}

/// True if one of the nodes is a sum of products: a generated kernel would compute it slowly.
bool has_contraction(const KernelRequest& request) {
  const auto region = make_region(request.graph, request.nodes, request.outputs);
  return region && std::ranges::any_of(region->stages, &RegionStage::is_contraction);
}

core::Result<std::unique_ptr<GpuKernel>>
make_chosen(const MakerContext& context, const KernelRequest& request, const std::string& choice) {
  if (const auto number = number_behind(kCublasLt, choice))
    return make_with_cublaslt(context, request, *number);
  if (const auto number = number_behind(kCudnn, choice))
    return make_with_cudnn(context, request, *number);
  if (choice == kInParts) return make_in_parts(context, request);
  if (choice == kInPasses) return make_in_passes(context, request);
  for (const KernelOptions& options : generated_options(request))
    if (choice == name_of(options)) return make_generated(context, request, options);
  return core::unsupported(fmt::format("no kernel is called `{}`", choice));
}

}  // namespace

core::Result<std::unique_ptr<GpuKernel>> make_kernel(const MakerContext& context,
                                                     const KernelRequest& request,
                                                     const std::string& choice,
                                                     std::vector<std::string>* why_not) {
  const auto note = [&](const core::Error& error) {
    if (why_not) why_not->push_back(error.message);
  };
  if (!choice.empty()) {
    auto chosen = make_chosen(context, request, choice);
    if (chosen) return chosen;
    note(chosen.error());
  }
  using Maker = std::function<core::Result<std::unique_ptr<GpuKernel>>()>;
  const Maker makers[] = {[&] { return make_with_cublaslt(context, request, 0); },
                          [&] { return make_with_cudnn(context, request, 0); },
                          [&] { return make_in_parts(context, request); }};
  for (const Maker& make : makers) {
    auto made = make();
    if (made) return made;
    note(made.error());
  }
  return make_generated(context, request, {});
}

std::vector<std::string> kernel_candidates(const MakerContext& context,
                                           const KernelRequest& request) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view library, std::size_t count) {
    for (std::size_t k = 0; k < std::min(count, kMostOfALibrary); ++k)
      names.push_back(fmt::format("{}{}", library, k));
  };
  add(kCublasLt, count_cublaslt_algorithms(context, request));
  add(kCudnn, count_cudnn_plans(context, request));
  const Libraries& libraries = context.handles->libraries();
  if ((libraries.cublaslt || libraries.cudnn) && has_contraction(request)) {
    if (request.nodes.size() > 1) names.emplace_back(kInParts);
    return names;
  }
  for (const KernelOptions& options : generated_options(request)) names.push_back(name_of(options));
  if (has_long_rows(request)) names.emplace_back(kInPasses);
  return names;
}

}  // namespace soapstone::gpu
