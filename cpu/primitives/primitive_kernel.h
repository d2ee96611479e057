// A kernel that is one oneDNN primitive whose arguments come as they are.
#pragma once

#include <utility>
#include <vector>

#include "cpu/base/bound_primitive.h"
#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {

class PrimitiveKernel final : public runtime::HostKernel {
 public:
  /// Input 0 of the head is the primitive's source.
  PrimitiveKernel(const KernelRequest& request, Primitive primitive);
  /// A further input of the launch.
  void add_argument(int argument, const Descriptor& descriptor, std::size_t input);

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override;
  std::size_t scratch_bytes() const override { return primitive_.scratch_bytes(); }
  std::string implementation() const override { return primitive_.implementation(); }

 private:
  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  BoundPrimitive primitive_;
  std::vector<std::pair<std::size_t, std::size_t>> arguments_;  // of the primitive, of the launch
  std::size_t destination_;
};

}  // namespace soapstone::cpu
