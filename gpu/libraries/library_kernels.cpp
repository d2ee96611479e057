// See library_kernels.h.
#include "gpu/libraries/library_kernels.h"

#include <utility>

namespace soapstone::gpu {
namespace {

void* pointer_to(DriverAddress address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): of the device
}

/// What kernels of both libraries share.
class LibraryKernel : public GpuKernel {
 public:
  std::string implementation() const override { return name_; }

 protected:
  LibraryKernel(std::shared_ptr<LibraryHandles> handles, KernelArguments arguments,
                ArgumentNumbers numbers, std::string name)
      : handles_(std::move(handles)), arguments_(std::move(arguments)),
        numbers_(std::move(numbers)), name_(std::move(name)) {}

  /// The address of an element of a tensor.
  void* address(core::TensorId id, core::DataType type, std::int64_t element,
                const runtime::KernelCall& call) const {
    const auto bytes = element * static_cast<std::int64_t>(core::size_bytes(type));
    return pointer_to(arguments_.address(numbers_.at(id), call) +
                      static_cast<DriverAddress>(bytes));
  }
  LibraryHandles& handles() const { return *handles_; }

 private:
  std::shared_ptr<LibraryHandles> handles_;
  KernelArguments arguments_;
  ArgumentNumbers numbers_;
  std::string name_;
};

class CudnnKernel final : public LibraryKernel {
 public:
  CudnnKernel(std::shared_ptr<LibraryHandles> handles, CudnnGraph graph, CudnnPlan plan,
              KernelArguments arguments, ArgumentNumbers numbers, std::string name)
      : LibraryKernel(std::move(handles), std::move(arguments), std::move(numbers),
                      std::move(name)),
        graph_(std::move(graph)), plan_(std::move(plan)) {
    for (const GraphTensor& tensor : graph_.operations().tensors)
      host_numbers_.push_back(static_cast<float>(tensor.number.value_or(0)));
  }

  std::size_t scratch_bytes() const override { return plan_.workspace_bytes; }

  core::Status launch(const Driver&, DriverHandle stream,
                      const runtime::KernelCall& call) override {
    const Cudnn& cudnn = graph_.cudnn();
    SOAPSTONE_ASSIGN_OR_RETURN(void* const handle, handles().cudnn());
    SOAPSTONE_RETURN_IF_ERROR(checked(cudnn, cudnn.set_stream(handle, stream), "cudnnSetStream"));
    for (std::int64_t run = 0; run < graph_.operations().runs; ++run)
      SOAPSTONE_RETURN_IF_ERROR(execute(handle, run, call));
    return core::Done{};
  }

 private:
  core::Status execute(void* handle, std::int64_t run, const runtime::KernelCall& call) {
    const Cudnn& cudnn = graph_.cudnn();
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    const auto& tensors = graph_.operations().tensors;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const GraphTensor& tensor = tensors[k];
      if (!tensor.id.valid() && !tensor.number) continue;
      ids.push_back(static_cast<std::int64_t>(k));
      pointers.push_back(tensor.number ? &host_numbers_[k]
                                       : address(tensor.id, tensor.data_type,
                                                 tensor.offset + run * tensor.step, call));
    }
    void* const workspace = pointer_to(call.scratch.value());
    CudnnDescriptor pack(cudnn, cudnn::Descriptor::kVariantPack);
    pack.set(cudnn::Attribute::kPackIds, ids)
        .set(cudnn::Attribute::kPackPointers, cudnn::Type::kPointer, std::ssize(pointers),
             pointers.data())
        .set(cudnn::Attribute::kPackWorkspace, cudnn::Type::kPointer, 1, &workspace);
    SOAPSTONE_RETURN_IF_ERROR(pack.finalize());
    return checked(cudnn, cudnn.execute(handle, plan_.descriptor.get(), pack.get()),
                   "cudnnBackendExecute");
  }

  CudnnGraph graph_;
  CudnnPlan plan_;
  std::vector<float> host_numbers_;  // by tensor: those that are given by value
};

class CublasLtKernel final : public LibraryKernel {
 public:
  CublasLtKernel(std::shared_ptr<LibraryHandles> handles, CublasLtMatmul matmul,
                 CublasLtMatmul::Algorithm algorithm, KernelArguments arguments,
                 ArgumentNumbers numbers, std::string name)
      : LibraryKernel(std::move(handles), std::move(arguments), std::move(numbers),
                      std::move(name)),
        matmul_(std::move(matmul)), algorithm_(algorithm) {}

  std::size_t scratch_bytes() const override { return algorithm_.workspace_bytes; }

  core::Status launch(const Driver&, DriverHandle stream,
                      const runtime::KernelCall& call) override {
    SOAPSTONE_ASSIGN_OR_RETURN(void* const handle, handles().cublaslt());
    const MatrixProduct& p = matmul_.product();
    const auto place = [&](const StridedMatrix& m) {
      return address(m.id, p.data_type, m.offset, call);
    };
    return matmul_.run(handle, stream, algorithm_,
                       {place(p.left), place(p.right), p.addend ? place(*p.addend) : nullptr,
                        p.bias ? place(*p.bias) : nullptr, place(p.result),
                        pointer_to(call.scratch.value())});
  }

 private:
  CublasLtMatmul matmul_;
  CublasLtMatmul::Algorithm algorithm_;
};

}  // namespace

std::unique_ptr<GpuKernel> make_cudnn_kernel(std::shared_ptr<LibraryHandles> handles,
                                             CudnnGraph graph, CudnnPlan plan,
                                             KernelArguments arguments, ArgumentNumbers numbers,
                                             std::string name) {
  return std::make_unique<CudnnKernel>(std::move(handles), std::move(graph), std::move(plan),
                                       std::move(arguments), std::move(numbers), std::move(name));
}

std::unique_ptr<GpuKernel> make_cublaslt_kernel(std::shared_ptr<LibraryHandles> handles,
                                                CublasLtMatmul matmul,
                                                CublasLtMatmul::Algorithm algorithm,
                                                KernelArguments arguments, ArgumentNumbers numbers,
                                                std::string name) {
  return std::make_unique<CublasLtKernel>(std::move(handles), std::move(matmul), algorithm,
                                          std::move(arguments), std::move(numbers),
                                          std::move(name));
}

}  // namespace soapstone::gpu
