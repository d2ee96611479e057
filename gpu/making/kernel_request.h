// What the makers of kernels are given: a launch, and the device for which it is made.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/compile/nvrtc.h"
#include "gpu/device/device.h"
#include "gpu/device/gpu_kernel.h"
#include "gpu/forms/operation_graph.h"
#include "gpu/libraries/handles.h"
#include "runtime/launches/backend.h"

namespace soapstone::gpu {

/// In which layout convolutions and what follows them keep their images.
enum class ImageLayout : std::uint8_t {
  /// As measured costs say (layout_choice.h); where none are known, channels last where elements
  /// have 16 bits, as tensor cores read them so.
  kByCost,
  kRowMajor,
  kChannelsLast,
};

struct GpuOptions {
  FloatMath math = FloatMath::kExact;
  ImageLayout images = ImageLayout::kByCost;
  /// What a library's kernel may use beside its tensors.
  std::size_t workspace_limit = std::size_t{256} << 20;
};

/// What makers use; it outlives the kernels that they make.
struct MakerContext {
  DevicePtr device;
  runtime::DeviceMemory& memory;
  KernelCompiler compiler;
  std::shared_ptr<LibraryHandles> handles;
  GpuOptions options;
};

struct KernelRequest {
  const core::Graph& graph;
  std::vector<core::NodeId> nodes;  ///< In topological order.
  std::vector<core::TensorId> inputs, outputs;
  TensorLayouts layouts;  ///< Of those that are not row-major.
  const runtime::ConstantValue& constants;
};
KernelRequest request_of(const core::Graph& graph, const runtime::Launch& launch,
                         const runtime::LaunchLayouts& layouts,
                         const runtime::ConstantValue& constants);

/// Where the kernel is given these tensors; constants are copied to the device as they are to lie.
/// Errors: kUnavailable if there is not enough memory.
core::Result<KernelArguments> arguments_for(const MakerContext& context,
                                            const KernelRequest& request,
                                            std::span<const core::TensorId> tensors);

}  // namespace soapstone::gpu
