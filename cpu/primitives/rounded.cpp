// Contractions of f32 whose factors are rounded to bf16, or to integers of 8 bits, which the
// processor multiplies faster; biases and what stands behind them are f32. The source is rounded
// with each run, weights once.
#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {

core::Result<std::unique_ptr<runtime::HostKernel>>
make_rounded_kernel(const KernelRequest& request) {
  const auto make = request.op() == "conv"             ? make_convolution_kernel
                    : request.op() == "conv_transpose" ? make_deconvolution_kernel
                                                       : make_matmul_kernel;
  auto kernel = make(request);
  // oneDNN's plain loops take a thousand times as long as what anyone would choose.
  if (kernel && (*kernel)->implementation().find("ref") != std::string::npos)
    return refuse("rounded factors: oneDNN has no fast implementation");
  return kernel;
}

}  // namespace soapstone::cpu
