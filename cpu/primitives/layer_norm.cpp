// Layer normalization by oneDNN, on data seen as a matrix.
#include "cpu/primitives/primitive_kernel.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Layout;

core::Result<std::unique_ptr<runtime::HostKernel>>
make_layer_norm_of(const KernelRequest& request) {
  const Dims dims = request.dims(request.head_input(0));
  const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
  const std::int64_t inner = product(dims, axis, dims.size());
  const bool has_bias = request.has_head_input(2);
  for (std::size_t k = 1; k < (has_bias ? 3u : 2u); ++k) {
    if (!covers_tail(request.dims(request.head_input(k)), dims, axis))
      return refuse("layer_norm: scale or bias is not of the normalized shape");
  }
  auto kernel = std::make_unique<PrimitiveKernel>(
      request,
      make_layer_norm(request.engine, describe({product(dims, 0, axis), inner}, Layout::kRowMajor),
                      static_cast<float>(request.attributes().get_real("epsilon")), has_bias,
                      plain_attributes()));
  const Descriptor parameter = describe({inner}, Layout::kRowMajor);
  kernel->add_argument(DNNL_ARG_SCALE, parameter, request.number(request.head_input(1)));
  if (has_bias)
    kernel->add_argument(DNNL_ARG_SHIFT, parameter, request.number(request.head_input(2)));
  return std::unique_ptr<runtime::HostKernel>(std::move(kernel));
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_layer_norm_kernel(const KernelRequest& request) {
  if (request.op() != "layer_norm") return not_mine();
  if (!request.all_floats()) return refuse("layer_norm: elements are not f32");
  if (!request.row_major()) return refuse("layer_norm: not row-major");
  if (!request.has_elements()) return refuse("layer_norm: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("layer_norm: has no epilogue");
  return guarded([&] { return make_layer_norm_of(request); });
}

}  // namespace soapstone::cpu
