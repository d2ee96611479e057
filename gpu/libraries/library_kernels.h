// Kernels of libraries in a stream.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gpu/device/gpu_kernel.h"
#include "gpu/libraries/cublaslt_matmul.h"
#include "gpu/libraries/handles.h"

namespace soapstone::gpu {

/// Where a kernel finds the tensors of its description: numbers of arguments.
using ArgumentNumbers = std::map<core::TensorId, std::size_t>;

/// A plan of cuDNN. `name` is what implementation() answers.
std::unique_ptr<GpuKernel> make_cudnn_kernel(std::shared_ptr<LibraryHandles> handles,
                                             CudnnGraph graph, CudnnPlan plan,
                                             KernelArguments arguments, ArgumentNumbers numbers,
                                             std::string name);

/// A product of cuBLASLt, likewise.
std::unique_ptr<GpuKernel> make_cublaslt_kernel(std::shared_ptr<LibraryHandles> handles,
                                                CublasLtMatmul matmul,
                                                CublasLtMatmul::Algorithm algorithm,
                                                KernelArguments arguments, ArgumentNumbers numbers,
                                                std::string name);

}  // namespace soapstone::gpu
