// See host_backend.h.
#include "runtime/launches/host_backend.h"

namespace soapstone::runtime {
namespace {

core::Result<std::unique_ptr<Kernel>> as_kernel(core::Result<std::unique_ptr<HostKernel>> made) {
  if (!made) return made.error();
  return std::unique_ptr<Kernel>(*std::move(made));
}

}  // namespace

core::Result<std::unique_ptr<Queue>> HostBackend::make_queue() {
  return std::unique_ptr<Queue>(std::make_unique<HostQueue>());
}

core::Result<std::unique_ptr<Kernel>>
HostBackend::compile(const core::Graph& graph, const Launch& launch, const LaunchLayouts& layouts,
                     const ConstantValue& constants, std::vector<std::string>* why_not) {
  return as_kernel(make_kernel(graph, launch, layouts, constants, why_not));
}

core::Result<std::unique_ptr<Kernel>> HostBackend::compile_conversion(const core::TensorType& type,
                                                                      Layout from, Layout to) {
  return as_kernel(make_conversion(type, from, to));
}

}  // namespace soapstone::runtime
