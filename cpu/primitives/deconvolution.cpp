// Transposed convolutions by oneDNN, which calls them deconvolutions; data row-major.
#include "cpu/primitives/contraction_kernel.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Layout;

/// Our [i, o/g, k…], whose channels i are those of all groups, as oneDNN's [g, o/g, i/g, k…].
Descriptor weights_descriptor(const Dims& weights, std::int64_t group) {
  const Dims strides = runtime::strides_of(weights, Layout::kRowMajor);
  Dims dims{weights[1], weights[0] / group}, steps{strides[1], strides[0]};
  dims.insert(dims.end(), weights.begin() + 2, weights.end());
  steps.insert(steps.end(), strides.begin() + 2, strides.end());
  if (group > 1) {
    dims.insert(dims.begin(), group);
    steps.insert(steps.begin(), strides[0] * (weights[0] / group));
  }
  return describe(dims, steps);
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_deconvolution_kernel(const KernelRequest& request) {
  if (request.op() != "conv_transpose") return not_mine();
  if (!request.all_floats()) return refuse("transposed convolution: elements are not f32");
  if (!request.row_major()) return refuse("transposed convolution: not row-major");
  if (!request.has_elements()) return refuse("transposed convolution: an empty tensor");
  const TensorId source = request.head_input(0), weights = request.head_input(1);
  const TensorId head_bias = request.has_head_input(2) ? request.head_input(2) : TensorId::none();
  const Dims dims = request.dims(request.launch.outputs[0]);
  if (dims.size() > 5) return refuse("transposed convolution: more than three spatial dimensions");
  const std::int64_t group = request.attributes().get_int("group");
  if (request.factors == core::DataType::kInt8) return refuse("transposed convolution: int8");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    SOAPSTONE_ASSIGN_OR_RETURN(const Factors factors, Factors::make(request, weights, 1));
    const Epilogue epilogue(request, head_bias, dims, 1);
    dnnl::primitive_attr attributes = plain_attributes();
    attributes.set_post_ops(epilogue.steps());
    const Descriptor given = weights_descriptor(request.dims(weights), group);
    std::optional<Descriptor> bias;
    if (epilogue.bias()) bias = describe({dims[1]}, Layout::kRowMajor);
    const Descriptor given_source = describe(request.dims(source), Layout::kRowMajor);
    const Contraction contraction{source,
                                  weights,
                                  given_source,
                                  given,
                                  bias,
                                  make_deconvolution(request.engine, factors.source(given_source),
                                                     factors.weights(describe_any(given.dims())),
                                                     bias, describe(dims, Layout::kRowMajor),
                                                     window_of(request.attributes()), attributes),
                                  factors};
    return make_contraction(request, contraction, epilogue);
  });
}

}  // namespace soapstone::cpu
