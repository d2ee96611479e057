// The base of backends whose kernels run on the host, and the reference kernels that they fall back
// to.
#pragma once

#include "runtime/device/host_queue.h"
#include "runtime/launches/backend.h"

namespace soapstone::runtime {

class HostBackend : public Backend {
 public:
  DeviceMemory& memory() final { return memory_; }
  core::Result<std::unique_ptr<Queue>> make_queue() final;
  core::Result<std::unique_ptr<Kernel>> compile(const core::Graph& graph, const Launch& launch,
                                                const LaunchLayouts& layouts,
                                                const ConstantValue& constants,
                                                std::vector<std::string>* why_not) final;
  core::Result<std::unique_ptr<Kernel>> compile_conversion(const core::TensorType& type,
                                                           Layout from, Layout to) final;

 private:
  /// compile() and compile_conversion(), with kernels that a HostQueue can run.
  virtual core::Result<std::unique_ptr<HostKernel>>
  make_kernel(const core::Graph& graph, const Launch& launch, const LaunchLayouts& layouts,
              const ConstantValue& constants, std::vector<std::string>* why_not) = 0;
  virtual core::Result<std::unique_ptr<HostKernel>> make_conversion(const core::TensorType& type,
                                                                    Layout from, Layout to) = 0;

  HostMemory memory_;
};

/// Every node of a launch by its comprehension, in doubles. Errors: kUnsupported for an opaque node
/// and for elements that are no numbers.
core::Result<std::unique_ptr<HostKernel>> compile_reference(const core::Graph& graph,
                                                            const Launch& launch,
                                                            const LaunchLayouts& layouts,
                                                            const ConstantValue& constants);
/// A plain strided copy.
std::unique_ptr<HostKernel> compile_reference_conversion(const core::TensorType& type, Layout from,
                                                         Layout to);

}  // namespace soapstone::runtime
