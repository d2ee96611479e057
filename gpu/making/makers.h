// The makers of kernels, in the order in which a launch is offered to them. The last one generates,
// and makes a kernel of whatever has a comprehension.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/making/kernel_request.h"

namespace soapstone::gpu {

using runtime::generated::KernelOptions;

/// `choice`: the name of a candidate, or empty. `why_not`, if given, collects why makers refused.
/// Errors: those of the last maker.
core::Result<std::unique_ptr<GpuKernel>> make_kernel(const MakerContext& context,
                                                     const KernelRequest& request,
                                                     const std::string& choice,
                                                     std::vector<std::string>* why_not);

/// The names of ways to run the launch: what implementation() of the kernels answers.
std::vector<std::string> kernel_candidates(const MakerContext& context,
                                           const KernelRequest& request);

// --- the makers ---------------------------------------------------------------------------------

/// Plan number `number` of those that cuDNN proposes. Errors: kUnsupported, kUnavailable.
core::Result<std::unique_ptr<GpuKernel>>
make_with_cudnn(const MakerContext& context, const KernelRequest& request, std::size_t number);
std::size_t count_cudnn_plans(const MakerContext& context, const KernelRequest& request);

/// The same with algorithms of cuBLASLt.
core::Result<std::unique_ptr<GpuKernel>>
make_with_cublaslt(const MakerContext& context, const KernelRequest& request, std::size_t number);
std::size_t count_cublaslt_algorithms(const MakerContext& context, const KernelRequest& request);

/// Contractions by a library, and generated kernels for what stands between and behind them:
/// kInParts. Errors: kUnsupported if there is no contraction with something behind it.
core::Result<std::unique_ptr<GpuKernel>> make_in_parts(const MakerContext& context,
                                                       const KernelRequest& request);

inline constexpr std::string_view kInParts = "in parts";

/// Generated; `options` as one of generated_options(), or none.
core::Result<std::unique_ptr<GpuKernel>> make_generated(const MakerContext& context,
                                                        const KernelRequest& request,
                                                        const KernelOptions& options);
/// A generated kernel that copies a tensor from one layout into another.
core::Result<std::unique_ptr<GpuKernel>> make_conversion(const MakerContext& context,
                                                         const core::TensorType& type,
                                                         runtime::Layout from, runtime::Layout to);
/// Generated kernels one after the other, where few rows are so long that one block takes long for
/// its own: kInPasses. Errors: kUnsupported if there are no such rows.
core::Result<std::unique_ptr<GpuKernel>> make_in_passes(const MakerContext& context,
                                                        const KernelRequest& request);
bool has_long_rows(const KernelRequest& request);

inline constexpr std::string_view kInPasses = "generated in passes";

/// Those that lead to different texts, the default first.
std::vector<KernelOptions> generated_options(const KernelRequest& request);
std::vector<KernelOptions> generated_options(const Region& region);
/// "generated" or "generated 128/32/4 in tiles of 64" or "… in registers": threads, lanes, width.
std::string name_of(const KernelOptions& options);

}  // namespace soapstone::gpu
